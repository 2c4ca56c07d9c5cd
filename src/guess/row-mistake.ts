// What is wrong with NDJSON of which nothing could be stored, as far as its beginning tells. It is looked at for its
// sender alone: what is counted and set aside is decided by the codec.

import { foreignFile } from './foreign-file.ts'

/** The most that is looked at. */
const headBytes = 4_096

interface Mistake {
  readonly pattern: RegExp
  readonly advice: string
  /** Absent is all. */
  readonly isOf?: readonly RowKind[]
}

const anyKind: readonly RowKind[] = ['document', 'events', 'rows']

/** Patterns that begin at the first character alone, or look for a few fixed characters. */
const mistakes: readonly Mistake[] = [
  {
    pattern: /^--[^\r\n]{1,200}\r?\n(?:[^\r\n]{0,200}\r?\n)?content-disposition:/i,
    advice: 'the body is a multipart form, but must be the rows themselves: with curl, send --data-binary @file',
  },
  {
    pattern: /^[\w./\\~-]+\.(?:csv|tsv|ndjson|jsonl|json|parquet)$/i,
    advice: 'the body is a file name instead of the file: with curl, send --data-binary @file',
  },
  { pattern: /^\[/, advice: 'an array of events needs format=json', isOf: ['events'] },
  { pattern: /^\{\s*'/, advice: 'JSON has double quotes around keys and texts' },
  {
    pattern: /^\{\s*[a-z_$][\w$]*\s*:/i,
    advice: 'JSON has double quotes around keys; a shell removes them unless the JSON is in single quotes',
  },
  {
    pattern: /^\{[ \t\r]*\n\s*["}]|^\{[^\n{}]*,[ \t\r]*\n\s*"/,
    advice: 'an event over several lines needs format=json',
    isOf: ['events'],
  },
  {
    pattern: /^\{[^\n]*\}\s*(?:,\s*)?\{/,
    advice: 'each object needs a line of its own: curl -d removes the line feeds of a file, --data-binary keeps them',
  },
  { pattern: /,\s*[}\]]/, advice: 'JSON has no comma after the last value' },
  {
    pattern: /^\{[^\n]*(?:\bNaN\b|\bundefined\b|\bNone\b|\bTrue\b|\bFalse\b)/,
    advice: 'outside of quotes, JSON has only null, true, false and numbers',
  },
  { pattern: /^\w+=[^\n]*$/, advice: 'the body is a form: send JSON, one object a line' },
  {
    pattern: /^[^\n{["]+[,;\t][^\n]*(?:\n|$)/,
    advice: 'this looks like CSV: send it to POST /v0/datasources?mode=append&format=csv',
  },
]

/** `events` may be one document too; `rows` are those of an import. */
export type RowKind = 'document' | 'events' | 'rows'

/** Advice about the beginning of a body, as a clause; undefined where it is JSON, or nothing is known of it. */
export function rowMistake(body: Uint8Array, kind: RowKind): string | undefined {
  const head = Buffer.from(body.buffer, body.byteOffset, Math.min(body.byteLength, headBytes))
  if (head[0] === 0x1f && head[1] === 0x8b)
    return 'the body is compressed with gzip: send the header Content-Encoding: gzip'
  if (head.length >= 4 && head.readUInt32LE(0) === 0xfd2fb528) {
    return 'the body is compressed with zstd: send the header Content-Encoding: zstd'
  }
  const foreign = foreignFile(head)
  if (foreign !== null) return `the body is ${foreign.what}: ${foreign.advice}`
  const text = head
    .toString()
    .replace(/^\uFEFF/, '')
    .trim()
  const [line = ''] = text.split('\n', 1)
  return isObject(line)
    ? undefined
    : mistakes.find(({ pattern, isOf = anyKind }) => isOf.includes(kind) && pattern.test(text))?.advice
}

function isObject(line: string): boolean {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    // No JSON, and that is the answer.
    return false
  }
}
