import { jsonDepthMax } from '../codec/raw-json.ts'
import { parseKeepingIntegers } from './large-integer.ts'
import type { SampleObject } from './record-columns.ts'

const recordsMax = 1_000
const bytesMax = 1024 * 1024

/** The first records of NDJSON that are objects; a line that is none is left out, as it is when a sample cuts it. */
export function sampleRecords(lines: Uint8Array): readonly SampleObject[] {
  const records: SampleObject[] = []
  // A record that the limit cuts in two is no JSON, and is left out; the first one is looked at whatever its length.
  const firstEnd = lines.indexOf(0x0a)
  const end = Math.max(bytesMax, firstEnd < 0 ? lines.length : firstEnd)
  for (const line of new TextDecoder().decode(lines.subarray(0, end)).split('\n')) {
    if (records.length >= recordsMax) break
    const value = parseOrNull(line)
    if (typeof value !== 'object' || value === null || Array.isArray(value) || !nestsWithin(value, jsonDepthMax))
      continue
    // JSON gives objects, arrays and scalars, and arrays are none of a record's.
    records.push(value as SampleObject)
  }
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

/** The scanner takes no deeper record, and what walks through it has no deeper stack. */
function nestsWithin(value: object, depthMax: number): boolean {
  if (depthMax === 0) return false
  return Object.values(value).every((inner: unknown) => {
    return typeof inner !== 'object' || inner === null || nestsWithin(inner, depthMax - 1)
  })
}
