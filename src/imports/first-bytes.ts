/** What the first bytes of rows tell: how a file is packed, and which format it has, where nobody said it. */
import { extname } from 'node:path'
import { type ForeignFile, foreignFile, officeFile, officeMember, packedTwice } from '../guess/foreign-file.ts'
import { type JsonBeginning, jsonBeginning } from '../guess/json-beginning.ts'
import { encodingByMark } from '../guess/text-encoding.ts'
import type { ImportFormat } from '../ingest/ingest.types.ts'
import { packedHeadBytes, unpackedBeginning, unpackedBytes } from '../ingest/unpack/unpacked-beginning.ts'
import type { SourceBody } from './source-body.ts'

export interface FirstBytes {
  /** `gzip`, `zstd`, `zip`, or undefined for plain bytes. */
  readonly contentEncoding: string | undefined
  /** By the bytes, or by the name of what is packed; null when they do not say. */
  readonly format: ImportFormat | null
  /** What JSON they begin with; null for none. */
  readonly json: JsonBeginning | null
  /** What they are, where that is no table. */
  readonly foreign: ForeignFile | null
}

/** More than the header of a zip member with its name; a shorter name is all that is looked at. */
const headBytes = 512
/** Most records are shorter. */
const recordBytes = 64 * 1024

/** Looks at the beginning of a body, which stays unread. A `contentEncoding` that is known is taken for true. */
export async function lookAtFirstBytes(body: SourceBody, contentEncoding: string | undefined): Promise<FirstBytes> {
  const { bytes: head } = await body.beginning(headBytes)
  if (contentEncoding !== undefined) return { ...(await lookInside(body, contentEncoding)), contentEncoding }
  const packing = packingOf(head)
  if (packing !== undefined) {
    const name = packedName(head)
    const inside = await lookInside(body, packing)
    const foreign = name === officeMember ? officeFile : inside.foreign
    return { contentEncoding: packing, json: inside.json, format: formatOfName(name) ?? inside.format, foreign }
  }
  const format = formatOfBytes(head)
  if (format === 'parquet' || !jsonStart.test(textOf(head)))
    return { contentEncoding, format, json: null, foreign: foreignFile(head) }
  const record = await body.beginning(recordBytes)
  return { contentEncoding, format, json: jsonBeginning(record.bytes, record.isWhole), foreign: null }
}

async function lookInside(body: SourceBody, contentEncoding: string): Promise<Omit<FirstBytes, 'contentEncoding'>> {
  const byteCount = packedHeadBytes[contentEncoding]
  if (byteCount === undefined) return { format: null, json: null, foreign: null }
  const { bytes: head, isWhole } = await body.beginning(byteCount)
  const beginning = await unpackedBeginning(head, contentEncoding)
  // Of a short body all was unpacked, unless it is more than is given.
  const isAll = isWhole && head.length <= headBytes && beginning.length < unpackedBytes
  const start = Buffer.from(beginning)
  // JSON and CSV are told apart by more than their first bytes.
  const format = formatOfBytes(start) === 'parquet' ? 'parquet' : null
  return { format, json: jsonBeginning(beginning, isAll), foreign: foreignInside(start) }
}

/** What is packed and is no table. */
function foreignInside(beginning: Buffer): ForeignFile | null {
  return packingOf(beginning) === undefined ? foreignFile(beginning) : packedTwice
}

/** Nothing that is CSV, NDJSON or Parquet begins so. */
function packingOf(head: Buffer): string | undefined {
  if (startsWith(head, [0x1f, 0x8b, 8])) return 'gzip'
  const isSkippable = head.length >= 4 && (head[0] ?? 0) >> 4 === 5 && startsWith(head.subarray(1), [0x2a, 0x4d, 0x18])
  if (startsWith(head, [0x28, 0xb5, 0x2f, 0xfd]) || isSkippable) return 'zstd'
  const isZip = startsWith(head, [0x50, 0x4b]) && [0x0403, 0x0605, 0x0807].includes(readWord(head, 2))
  return isZip ? 'zip' : undefined
}

function readWord(head: Buffer, offset: number): number {
  return head.length >= offset + 2 ? head.readUInt16LE(offset) : 0
}

function startsWith(head: Buffer, bytes: readonly number[]): boolean {
  return head.length >= bytes.length && bytes.every((byte, index) => head[index] === byte)
}

/** Behind its mark a Parquet file has binary; a CSV header `PAR1` goes on with text. */
function formatOfBytes(head: Buffer): ImportFormat | null {
  if (head.toString('latin1', 0, 4) === 'PAR1' && head.length > 4 && !isText(head[4] ?? 0)) return 'parquet'
  return /^\ufeff?\s*(?:(?:\[\s*)?\{\s*["'}]|\[\s*\]\s*$)/.test(textOf(head)) ? 'ndjson' : null
}

/** What JSON of rows begins with, and some CSV does. */
const jsonStart = /^\ufeff?\s*[[{]/

function textOf(head: Buffer): string {
  const marked = encodingByMark(head)
  return marked === 'utf-8' ? head.toString() : new TextDecoder(marked).decode(head)
}

function isText(byte: number): boolean {
  return byte >= 0x20 || byte === 9 || byte === 10 || byte === 13
}

/** The name of the first member of a zip archive; empty for what is packed otherwise. */
function packedName(head: Buffer): string {
  if (head.length < 30 || !startsWith(head, [0x50, 0x4b, 3, 4])) return ''
  return head.toString('utf8', 30, 30 + head.readUInt16LE(26))
}

const formatsByExtension: Readonly<Record<string, ImportFormat>> = {
  '.csv': 'csv',
  '.tsv': 'csv',
  '.ndjson': 'ndjson',
  '.jsonl': 'ndjson',
  '.json': 'ndjson',
  '.parquet': 'parquet',
}

const packedExtension = /\.(?:gz|gzip|zst|zstd|zip)$/i

/** The format that a file's name says, `rows.csv.gz` as well as `rows.csv`; null when it says none. */
export function formatOfName(name: string): ImportFormat | null {
  return formatsByExtension[extname(name.replace(packedExtension, '')).toLowerCase()] ?? null
}
