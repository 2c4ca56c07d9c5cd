// Random reads as requests: by each way in which a client can ask for rows. In texts `@` stands behind the names of data sources
// and pipes.

import type { SeededRandom } from '../seeded-random.ts'
import type { Read } from './random-reads.ts'

export interface ReadRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body?: string
  readonly isTokenInUrl: boolean
}

type Parameters = Readonly<Record<string, string>>

/** The formats of endpoints beside those of SQL. */
const endpointFormats: Readonly<Record<string, string>> = {
  CSV: 'csv',
  JSON: 'json',
  JSONEachRow: 'ndjson',
  Parquet: 'parquet',
  Native: 'arrow',
}

/** Asks for what the read reads, in a way that the random numbers choose. */
export function requestOf(read: Read, random: SeededRandom): ReadRequest {
  const given: Record<string, string> = {}
  for (const [name, value] of read.parameters) given[name] = String(value)
  const isTokenInUrl = random.below(4) === 0
  // Where a query over a pipe is asked for, the pipe can be the endpoint or a parameter.
  if (read.pipe !== null && (read.sql === null || random.below(3) > 0)) {
    const format = endpointFormats[read.format] ?? random.pick(['json', 'csv', 'ndjson', 'parquet'])
    const path = random.below(8) === 0 ? `/v0/pipe/${read.pipe}/data.${format}` : `/v0/pipes/${read.pipe}.${format}`
    const parameters = read.sql === null ? given : { ...given, q: read.sql }
    return { ...sent({ path, parameters }, random), isTokenInUrl }
  }
  if (read.pipe !== null) given['pipeline'] = read.pipe
  return { ...sqlRequest(read, given, random), isTokenInUrl }
}

function sqlRequest(
  { sql, format }: Read,
  given: Record<string, string>,
  random: SeededRandom,
): Omit<ReadRequest, 'isTokenInUrl'> {
  const isFormatInText = random.below(2) === 0
  const q = isFormatInText ? `${sql} FORMAT ${format}` : (sql ?? '')
  if (!isFormatInText) given['format'] = format
  if (random.below(3) > 0) return sent({ path: '/v0/sql', parameters: { ...given, q } }, random)
  return { method: 'POST', path: `/v0/sql?${new URLSearchParams(given)}`, body: q }
}

function sent(
  { path, parameters }: { readonly path: string; readonly parameters: Parameters },
  random: SeededRandom,
): Omit<ReadRequest, 'isTokenInUrl'> {
  const form = new URLSearchParams(parameters).toString()
  switch (random.below(4)) {
    case 0:
      return { method: 'POST', path, body: form }
    case 1:
      return { method: 'POST', path, body: JSON.stringify(parameters) }
    default:
      return { method: 'GET', path: `${path}?${form}` }
  }
}
