/**
 * The scan kernel: AssemblyScript, compiled to WebAssembly. It reads a frame of records in linear memory and writes typed
 * columns beside it; `scan-kernel.ts` is its host. Why it is not plain JavaScript: ARCHITECTURE.md, "Why it is built so".
 */
import { scanCsvRecords } from './csv'
import { openFrame } from './frame'
import { scanNdjsonRecords } from './ndjson'
import { surveyCsvRecord, surveyNdjsonRecord } from './survey'

export { advanceCsv, csvState, initialCsvState, openCsvBoundary } from './csv-boundary'
export { skipValue, unescapeInto } from './json'
export { writeSurveyedTexts } from './survey'

/**
 * Each reads records from `start` to `end` into the plan's columns and gives the address at which it stopped: `end`, or
 * the beginning of a record that is for the exact path.
 */
export function scanNdjson(plan: usize, frame: usize, start: usize, end: usize): usize {
  openFrame(frame, plan)
  return scanNdjsonRecords(start, end)
}

/** What a record is that a scan has stopped at: the cells of the plan; gives the address behind it, or 0. */
export function surveyNdjson(plan: usize, frame: usize, start: usize): usize {
  openFrame(frame, plan)
  return surveyNdjsonRecord(start)
}

export function surveyCsv(plan: usize, frame: usize, start: usize, end: usize): usize {
  openFrame(frame, plan)
  return surveyCsvRecord(start, end)
}

export function scanCsv(plan: usize, frame: usize, start: usize, end: usize): usize {
  openFrame(frame, plan)
  return scanCsvRecords(start, end)
}

/** Where the memory begins that is the host's to give out. */
export function heapStart(): usize {
  return __heap_base
}
