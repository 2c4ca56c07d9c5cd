/**
 * The scan kernel: AssemblyScript, compiled to WebAssembly. It reads a frame of records in linear memory and writes typed
 * columns beside it; `scan-kernel.ts` is its host. Why it is not plain JavaScript: docs/design.md, "Why it is built so".
 */
import { scanCsvRecords } from './csv'
import { openFrame, plan as openPlan } from './frame'
import { scanNdjsonRecords } from './ndjson'
import { setAsideSurveyed, setLineAside } from './quarantine'
import { surveyCsvRecord, surveyNdjsonRecord } from './survey'

export { advanceCsv, csvState, initialCsvState, openCsvBoundary } from './csv-boundary'
export { skipValue, unescapeInto } from './json'
export { fillTexts, writeSurveyedTexts } from './quarantine'

/**
 * Each reads records from `start` to `end` into the plan's columns, or sets them aside, and gives the address at which it
 * stopped: `end`, or the beginning of a record that is for the exact path, with what the survey knows of it in the plan.
 */
export function scanNdjson(plan: usize, frame: usize, start: usize, end: usize): usize {
  openFrame(frame, plan)
  let offset = start
  while (true) {
    offset = scanNdjsonRecords(offset, end)
    if (offset >= end) return end
    const behindLine = setLineAside(offset)
    if (behindLine !== 0) {
      offset = behindLine
      continue
    }
    const next = surveyNdjsonRecord(offset)
    openPlan.surveyedEnd = next
    if (next === 0 || !setAsideSurveyed(false)) return offset
    offset = next
  }
}

export function scanCsv(plan: usize, frame: usize, start: usize, end: usize): usize {
  openFrame(frame, plan)
  let offset = start
  while (true) {
    offset = scanCsvRecords(offset, end)
    if (offset >= end) return end
    const next = surveyCsvRecord(offset, end)
    openPlan.surveyedEnd = next
    if (next === 0 || !setAsideSurveyed(true)) return offset
    offset = next
  }
}

/** Where the memory begins that is the host's to give out. */
export function heapStart(): usize {
  return __heap_base
}
