import type { FastifyRequest } from 'fastify'
import { errors } from '../shared/errors.ts'
import { openMultipart } from './multipart-form.ts'
import { Parameters } from './parameters.ts'
import { arrivingBodyOf, readWhole } from './request-body.ts'

/**
 * The parameters of a request that carries no rows: from the URL, a form, a multipart form or a JSON object.
 *
 * The body's first character tells a JSON object from a form, as clients send either under any Content-Type.
 * @throws BODY_CORRUPT, REQUEST_INVALID (400), PAYLOAD_TOO_LARGE (413).
 */
export async function readChangeParameters(request: FastifyRequest, formBytesMax: number): Promise<Parameters> {
  const parameters = new Parameters(request.query)
  const body = arrivingBodyOf(request)
  const mediaType = request.sentContentType?.trim() ?? ''
  if (body !== undefined && mediaType.toLowerCase().startsWith('multipart/form-data')) {
    const form = await openMultipart(body.stream(), mediaType, formBytesMax)
    if (form.file !== null)
      throw errors.REQUEST_INVALID({ reason: 'there is a file in the form, and nothing takes it' })
    for (const [name, value] of form.fields) parameters.set(name, value)
    return parameters
  }
  const bytes = await readWhole(body, { headers: request.headers, bytesMax: formBytesMax })
  const text = bytes.toString().trim()
  if (text.startsWith('[')) throw errors.REQUEST_INVALID({ reason: 'its JSON must be an object, and it is an array' })
  if (text.startsWith('{')) for (const [name, value] of scalarsOf(text)) parameters.set(name, value)
  else for (const [name, value] of new URLSearchParams(text)) parameters.set(name, value)
  return parameters
}

type Field = readonly [string, string]

/**
 * The fields of a JSON object; an object inside gives its own with its name and a dot before theirs.
 *
 * @throws BODY_CORRUPT, REQUEST_INVALID (400). Precondition: `text` begins with a brace.
 */
export function scalarsOf(text: string): readonly Field[] {
  return Object.entries(parseObject(text)).flatMap(([name, value]): readonly Field[] => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return fieldOf(name, value)
    return Object.entries(value).flatMap(([inner, innerValue]) => fieldOf(`${name}.${inner}`, innerValue))
  })
}

function fieldOf(name: string, value: unknown): readonly Field[] {
  if (value === null) return []
  if (typeof value === 'object') throw errors.REQUEST_INVALID({ reason: `"${name}" must be a text, number or boolean` })
  return [[name, String(value)]]
}

function parseObject(text: string): object {
  try {
    // A text that begins with a brace is an object, or no JSON.
    return JSON.parse(text) as object
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw errors.BODY_CORRUPT({ format: 'JSON', reason, cause })
  }
}
