import { errors } from '../../shared/errors/errors.ts'
import type { Parameters } from './parameters.ts'

/** Which part of a list is asked for: `page`, counted from 1, of `page_size`. */
export interface Page {
  readonly page: number
  readonly pageSize: number
}

interface PageLimits {
  readonly pageSizeMax: number
  readonly pageMax: number
}

/** The first page, of as many as may be, where nothing is asked for. @throws PARAMETER_INVALID (400) */
export function readPage(parameters: Parameters, { pageSizeMax, pageMax }: PageLimits): Page {
  return {
    page: readCount(parameters, 'page', pageMax) ?? 1,
    pageSize: readCount(parameters, 'page_size', pageSizeMax) ?? pageSizeMax,
  }
}

export function partOf<One>(all: readonly One[], { page, pageSize }: Page): readonly One[] {
  return all.slice((page - 1) * pageSize, page * pageSize)
}

function readCount(parameters: Parameters, name: string, max: number): number | undefined {
  const text = parameters.text(name)
  if (text === undefined) return undefined
  const count = Number(text)
  if (/^\d{1,9}$/.test(text) && count >= 1 && count <= max) return count
  throw errors.PARAMETER_INVALID({ parameter: name, value: text, expected: `a whole number from 1 to ${max}` })
}
