// The token in a body, looked for in its first bytes alone: whoever has none is not read any further.

import type { FastifyRequest } from 'fastify'
import { kibibyte } from '../../shared/bytes.ts'
import { ApiError } from '../../shared/errors/errors.ts'
import { parseContentEncoding } from './content-encoding.ts'
import { parseMultipartHead } from './multipart-form.ts'
import { arrivingBodyOf } from './request-body.ts'

/** How far into a body a token may stand. */
export const tokenBytesMax = 8 * kibibyte

export interface BodyToken {
  readonly token: string | undefined
  /** Whether there is a part of the body that was not searched. */
  readonly isLater: boolean
}

/**
 * Looks for a field, `token` if no other is named, of a form, a multipart form or a JSON object in the first bytes of a body, which stay part
 * of it. Of several the last one there counts, as with every parameter. What is packed is not searched.
 *
 * @throws ENCODING_UNSUPPORTED (415), and what the body fails with.
 */
export async function readBodyToken(
  request: FastifyRequest,
  fieldNames: readonly string[] = ['token'],
): Promise<BodyToken> {
  const body = arrivingBodyOf(request)
  if (body === undefined) return { token: undefined, isLater: false }
  if (parseContentEncoding(request.headers['content-encoding']) !== 'identity') {
    return { token: undefined, isLater: true }
  }
  const peeked = await body.peek(tokenBytesMax).catch((error: unknown) => {
    // Whoever shows no token in all that was read of him hears that first.
    if (error instanceof ApiError && error.code === 'CHUNKS_TOO_SMALL') return null
    throw error
  })
  if (peeked === null) return { token: undefined, isLater: true }
  const { head, isWhole } = peeked
  const searched = head.subarray(0, tokenBytesMax)
  const isAll = isWhole && searched.length === head.length
  const token = await tokenIn(searched, { mediaType: request.sentContentType?.trim() ?? '', isAll, fieldNames })
  return { token: token?.trim() || undefined, isLater: !isAll }
}

interface HeadFacts {
  readonly mediaType: string
  /** Whether the body has no more bytes than these. */
  readonly isAll: boolean
  readonly fieldNames: readonly string[]
}

async function tokenIn(head: Buffer, { mediaType, isAll, fieldNames }: HeadFacts): Promise<string | undefined> {
  if (/^multipart\/form-data\b/i.test(mediaType)) {
    const fields = await parseMultipartHead(head, mediaType)
    return fields.findLast(([name]) => fieldNames.includes(name))?.[1]
  }
  const text = head.toString().trimStart()
  if (text.startsWith('{')) return jsonToken(text, fieldNames)
  return /^[\w%][\w.%[\]-]*=/.test(text) ? formToken(text, { isAll, fieldNames }) : undefined
}

/** The fields that end within the text. */
function formToken(text: string, { isAll, fieldNames }: Omit<HeadFacts, 'mediaType'>): string | undefined {
  const whole = isAll ? text.trimEnd() : text.slice(0, Math.max(0, text.lastIndexOf('&')))
  return [...new URLSearchParams(whole)].findLast(([name]) => fieldNames.includes(name))?.[1]
}

// What JSON is made of: whole strings, brackets, and what stands between. A quote that is left over begins a string that
// ends behind the text.
const jsonParts = /"(?:[^"\\]|\\.)*"|["{}[\]:,]|[^\s"{}[\]:,]+/gs

/** The text that a member of the outermost object has, where it ends within the text. */
function jsonToken(text: string, fieldNames: readonly string[]): string | undefined {
  const members = fieldNames.map((name) => JSON.stringify(name))
  let found: string | undefined
  let depth = 0
  let previous = ''
  let isValue = false
  for (const [part] of text.matchAll(jsonParts)) {
    if (part === '"') break
    if (isValue && part.startsWith('"')) found = parseString(part)
    isValue = depth === 1 && part === ':' && members.includes(previous)
    if (part === '{' || part === '[') depth += 1
    if (part === '}' || part === ']') depth -= 1
    previous = part
  }
  return found
}

function parseString(json: string): string | undefined {
  try {
    // The pattern is that of a JSON string, which gives a text.
    return JSON.parse(json) as string
  } catch {
    // An escape that is none; the token is then another one than that of the service.
    return undefined
  }
}
