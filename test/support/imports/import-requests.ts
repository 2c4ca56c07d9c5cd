import { Readable } from 'node:stream'
import type { ImportOrder, ImportRequest, ImportSource } from '../../../src/imports/imports.types.ts'
import { SourceBody } from '../../../src/imports/source-body.ts'

/** A body as a stream brings it, in these pieces. */
export function bodyOf(...pieces: readonly (Buffer | string)[]): SourceBody {
  return new SourceBody(Readable.from(pieces.map(asBuffer), { objectMode: false }))
}

/** The body cut in two behind each of its bytes, and whole. */
export function cutBodies(bytes: Buffer): readonly SourceBody[] {
  return Array.from({ length: bytes.length }, (_, cut) => bodyOf(bytes.subarray(0, cut + 1), bytes.subarray(cut + 1)))
}

/** Rows of which nobody says anything. */
export function sourceOf(body: SourceBody, more: Partial<ImportSource> = {}): ImportSource {
  return { body, contentEncoding: undefined, format: null, isFile: false, fieldFormat: null, async end() {}, ...more }
}

/** An order that says no more than its mode and a name. */
export function orderOf(more: Partial<ImportOrder> = {}): ImportOrder {
  return {
    mode: 'append',
    name: 'a',
    replaceCondition: null,
    schema: undefined,
    engine: null,
    indexes: undefined,
    description: '',
    version: undefined,
    format: null,
    csv: { delimiter: undefined, escapeCharacter: undefined },
    hasTypes: true,
    ...more,
  }
}

/** An import that nobody stops and nobody watches. */
export function requestOf(
  order: Partial<ImportOrder>,
  source: ImportSource | null,
  more: Partial<ImportRequest> = {},
): ImportRequest {
  const signal = new AbortController().signal
  const caller = { logFields: { jobId: 'j1' }, requireTarget() {}, requireCreation() {} }
  return { order: orderOf(order), source, signal, caller, watched: 'nothing', ...more }
}

/** All bytes of a body as text. */
export async function textOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const pieces: Uint8Array[] = []
  for await (const chunk of body) pieces.push(chunk)
  return Buffer.concat(pieces).toString()
}

function asBuffer(piece: Buffer | string): Buffer {
  return typeof piece === 'string' ? Buffer.from(piece) : piece
}
