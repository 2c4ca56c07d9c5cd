import type { FastifyRequest } from 'fastify'
import { errors } from '../../shared/errors/errors.ts'
import { jsonExcess } from '../../shared/json-bounds.ts'
import type { FormLimits } from '../http.types.ts'
import { asBuffer, parseContentEncoding, unpackAtOnce, unpackBody } from './content-encoding.ts'
import type { Field } from './multipart-form.ts'
import { arrivingBodyOf, readWhole } from './request-body.ts'

/**
 * The whole body of a request that carries no rows, unpacked; it counts as held until the request has its answer.
 *
 * @throws ENCODING_UNSUPPORTED (415), BODIES_TOO_MANY (503), and what `readWhole` and `unpackBody` do.
 */
export async function readForm(request: FastifyRequest, { formBytesMax, bodies }: FormLimits): Promise<Buffer> {
  const { headers } = request
  const hold = bodies.holdFor(request)
  const encoding = parseContentEncoding(headers['content-encoding'])
  const onBytes = (byteCount: number): void => hold.take(byteCount)
  hold.admit()
  const bytes = await readWhole(arrivingBodyOf(request), { headers, bytesMax: formBytesMax, onBytes })
  if (encoding === 'identity') return bytes
  const unpacked =
    unpackAtOnce(bytes, encoding, formBytesMax) ??
    (await bodies.unpack(hold, () => unpackBody(bytes, encoding, formBytesMax)))
  hold.take(unpacked.length)
  return asBuffer(unpacked)
}

/** Fields of a form, and keys of a JSON object at any depth: each costs a hundred times as much as its bytes. */
const fieldsMax = 10_000

/** The fields of a form. @throws FIELDS_TOO_MANY (400) */
export function parseForm(text: string): readonly Field[] {
  let fieldCount = 1
  for (let at = text.indexOf('&'); at >= 0 && fieldCount <= fieldsMax; at = text.indexOf('&', at + 1)) fieldCount += 1
  if (fieldCount > fieldsMax) throw errors.FIELDS_TOO_MANY({ fieldsMax })
  return [...new URLSearchParams(text)]
}

/** What the scanners of rows take too. */
const depthMax = 500

/** The text, if it is worth to be parsed as JSON. @throws FIELDS_TOO_MANY, NESTING_TOO_DEEP (400) */
export function boundedJson(text: string): string {
  const excess = jsonExcess(text, { keysMax: fieldsMax, depthMax })
  if (excess === 'keys') throw errors.FIELDS_TOO_MANY({ fieldsMax })
  if (excess === 'depth') throw errors.NESTING_TOO_DEEP({ depthMax })
  return text
}
