import { isUtf8 } from 'node:buffer'
import type { FastifyRequest } from 'fastify'
import { rowMistake } from '../../guess/row-mistake.ts'
import { errors } from '../../shared/errors/errors.ts'
import type { FormLimits } from '../http.types.ts'
import { openMultipart } from './multipart-form.ts'
import { Parameters } from './parameters.ts'
import { arrivingBodyOf } from './request-body.ts'
import { boundedJson, parseForm, readForm } from './whole-form.ts'

/** What a request brings that carries no rows. */
export interface ChangeInput {
  /** From the URL, and from the body where that is a form. */
  readonly parameters: Parameters
  /** The body where it is a JSON object; else an empty one. */
  readonly document: Readonly<Record<string, unknown>>
  /** That object as it was sent, for who must see each key and digit of it; empty where there is none. */
  readonly documentText: string
  /** The body where it is neither, such as SQL; empty when there is none. */
  readonly text: string
}

/**
 * The parameters of a request that carries no rows: from the URL, a form, a multipart form or a JSON object.
 *
 * @throws BODY_CORRUPT, REQUEST_INVALID, FIELDS_TOO_MANY (400), PAYLOAD_TOO_LARGE (413), BODIES_TOO_MANY (503).
 */
export async function readChangeParameters(request: FastifyRequest, limits: FormLimits): Promise<Parameters> {
  const { parameters, document, text } = await readChangeInput(request, limits)
  for (const [name, value] of scalarsOf(document)) parameters.set(name, value)
  if (text.trimStart().startsWith('[')) {
    throw errors.REQUEST_INVALID({ reason: 'its JSON must be an object, not an array' })
  }
  // A form of names without values.
  for (const [name, value] of parseForm(text)) parameters.set(name, value)
  return parameters
}

/**
 * The same, and what else the body may hold.
 *
 * The body's first characters tell a JSON object from a form and both from a text, as clients send each under any
 * Content-Type.
 * @throws BODY_CORRUPT, REQUEST_INVALID, FIELDS_TOO_MANY (400), PAYLOAD_TOO_LARGE (413), BODIES_TOO_MANY (503).
 */
export async function readChangeInput(request: FastifyRequest, limits: FormLimits): Promise<ChangeInput> {
  const parameters = new Parameters(request.query)
  request.sentParameters = () => parameters.names()
  const body = arrivingBodyOf(request)
  const mediaType = request.sentContentType?.trim() ?? ''
  if (body !== undefined && mediaType.toLowerCase().startsWith('multipart/form-data')) {
    const form = await openMultipart(body.stream(), mediaType, { ...limits, hold: limits.bodies.holdFor(request) })
    if (form.file !== null)
      throw errors.REQUEST_INVALID({ reason: 'there is a file in the form, which is not used here' })
    for (const [name, value] of form.fields) parameters.set(name, value)
    return { parameters, document: {}, documentText: '', text: '' }
  }
  const text = utf8Text(await readForm(request, limits))
  if (text.trimStart().startsWith('{')) {
    return { parameters, document: parseObject(text), documentText: text, text: '' }
  }
  if (!/^\s*\w+=/.test(text)) return { parameters, document: {}, documentText: '', text }
  for (const [name, value] of parseForm(text.trim())) parameters.set(name, value)
  return { parameters, document: {}, documentText: '', text: '' }
}

/** Editors put a mark in front of UTF-8, which is no part of the text. */
function utf8Text(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw errors.BODY_CORRUPT({ format: 'text', reason: 'it is not in UTF-8' })
  return bytes.toString().replace(/^\uFEFF/, '')
}

type Field = readonly [string, string]

/** The fields of a JSON object; an object inside gives its own with its name and a dot before theirs. */
export function scalarsOf(document: ChangeInput['document']): readonly Field[] {
  return Object.entries(document).flatMap(([name, value]): readonly Field[] => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return fieldOf(name, value)
    return Object.entries(value).flatMap(([inner, innerValue]) => fieldOf(`${name}.${inner}`, innerValue))
  })
}

function fieldOf(name: string, value: unknown): readonly Field[] {
  if (value === null) return []
  if (typeof value === 'object') throw errors.REQUEST_INVALID({ reason: `"${name}" must be a text, number or boolean` })
  return [[name, String(value)]]
}

/** @throws BODY_CORRUPT, FIELDS_TOO_MANY, NESTING_TOO_DEEP (400). Precondition: `text` begins with a brace. */
export function parseObject(text: string): ChangeInput['document'] {
  const bounded = boundedJson(text)
  try {
    // A text that begins with a brace is an object, or no JSON.
    return JSON.parse(bounded) as ChangeInput['document']
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    const mistake = rowMistake(Buffer.from(text), 'document')
    const hint = mistake === undefined ? undefined : `${mistake.charAt(0).toUpperCase()}${mistake.slice(1)}`
    throw errors.BODY_CORRUPT({ format: 'JSON', reason, hint, cause })
  }
}
