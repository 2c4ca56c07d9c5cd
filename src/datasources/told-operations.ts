import { toldReason } from '../observe/error-fields.ts'
import type { RecordedSource, WorkRecorder } from '../observe/work-recorder.types.ts'

/** Runs what is done to a data source, and tells of it; `nameOf` gives the data source as it is afterwards, where that differs. */
export type ToldOperations = <Result>(
  eventType: string,
  dataSource: RecordedSource,
  work: () => Promise<Result>,
  nameOf?: (result: Result) => RecordedSource,
) => Promise<Result>

/** @param now epoch milliseconds. */
export function toldOperations(recorder: WorkRecorder, now: () => number): ToldOperations {
  return async (eventType, dataSource, work, nameOf) => {
    if (!recorder.isOn) return await work()
    const startedAtMs = now()
    const startMs = performance.now()
    const elapsed = () => ({ startedAtMs, elapsedMs: performance.now() - startMs })
    try {
      const result = await work()
      recorder.operation({ eventType, dataSource: nameOf?.(result) ?? dataSource, ...elapsed(), error: null })
      return result
    } catch (thrown) {
      recorder.operation({ eventType, dataSource, ...elapsed(), error: toldReason(thrown) })
      throw thrown
    }
  }
}
