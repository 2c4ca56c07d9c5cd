import { jsonDepthMax } from '../codec/json/raw-json.ts'
import { errors } from '../shared/errors/errors.ts'
import { jsonExcess } from '../shared/json-bounds.ts'
import { parseKeepingIntegers } from './large-integer.ts'
import type { SampleObject } from './record-columns.ts'

const recordsMax = 1_000
const bytesMax = 1024 * 1024
/** Far more than a record has columns; each costs a microsecond. */
const keysMax = 100_000

/**
 * The first records of NDJSON that are objects; a line that is none is left out, as it is when a sample cuts it, and so is
 * one that is nested deeper than the scanner takes.
 *
 * @throws KEYS_TOO_MANY (400), and NESTING_TOO_DEEP (400) when there is no other record.
 */
export function sampleRecords(lines: Uint8Array): readonly SampleObject[] {
  const records: SampleObject[] = []
  let hasDeeper = false
  // A record that the limit cuts in two is no JSON, and is left out; the first one is looked at whatever its length.
  const firstEnd = lines.indexOf(0x0a)
  const end = Math.max(bytesMax, firstEnd < 0 ? lines.length : firstEnd)
  for (const line of new TextDecoder().decode(lines.subarray(0, end)).split('\n')) {
    if (records.length >= recordsMax) break
    const excess = jsonExcess(line, { keysMax, depthMax: jsonDepthMax })
    if (excess === 'keys') throw errors.KEYS_TOO_MANY({ keysMax })
    if (excess === 'depth') hasDeeper = true
    const value = excess === null ? parseOrNull(line) : null
    if (typeof value !== 'object' || value === null || Array.isArray(value)) continue
    // JSON gives objects, arrays and scalars, and arrays are none of a record's.
    records.push(value as SampleObject)
  }
  if (records.length === 0 && hasDeeper) throw errors.NESTING_TOO_DEEP({ depthMax: jsonDepthMax })
  return records
}

function parseOrNull(text: string): unknown {
  try {
    return parseKeepingIntegers(text)
  } catch {
    // Counted and kept by the scanner, like any bad line.
    return null
  }
}
