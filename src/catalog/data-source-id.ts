import { createResourceHex } from '../shared/ids.ts'
import type { DataSourceId } from './data-source.types.ts'

const idPattern = /^t_[0-9a-f]{32}$/
// An id may carry a label for readers, between prefix and digits: `t_.orders.0123…`.
const labelledIdPattern = /^t_(?:[^/]*\.)?([0-9a-f]{32})$/

/** A new id, out of 128 random bits. */
export function createDataSourceId(): DataSourceId {
  return parseDataSourceId(`t_${createResourceHex()}`)
}

/** @throws Error when the text is no id: for ids of our own, which are always right. */
export function parseDataSourceId(text: string): DataSourceId {
  const id = findDataSourceId(text)
  if (id === undefined || id !== text) throw new Error(`'${text}' is no id of a data source`)
  return id
}

/** The id that a caller wrote, with or without a label; undefined when the text is no id. */
export function findDataSourceId(text: string): DataSourceId | undefined {
  if (!text.startsWith('t_')) return undefined
  const digits = labelledIdPattern.exec(text)?.[1]
  const id = `t_${digits}`
  // The pattern has just said so.
  return digits !== undefined && idPattern.test(id) ? (id as DataSourceId) : undefined
}
