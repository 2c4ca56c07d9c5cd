/** Queries over callers' Parquet files: in sessions of their own, as the engine may not be able to stop one; see `late-reads.ts`. */
import { type InsertLimits, limitSettings, settingsText } from '../sql/statement-settings.ts'
import { isStopped, lateReadError } from '../store-error.ts'
import type { EngineDoors } from './engine-doors.ts'

/** What a statement gets beyond its time limit until it counts as late. */
const lateGraceMs = 1_000

export class FileReads {
  readonly #limits: InsertLimits
  readonly #engine: Pick<EngineDoors, 'fileReaders' | 'lateError' | 'lateReads'>

  constructor(limits: InsertLimits, engine: Pick<EngineDoors, 'fileReaders' | 'lateError' | 'lateReads'>) {
    this.#limits = limits
    this.#engine = engine
  }

  /** See `ParquetFiles`. */
  async rows<Row>(sql: string): Promise<readonly Row[]> {
    const statement = `${sql}, ${settingsText(limitSettings(this.#limits))}\nFORMAT JSONEachRow`
    const text = await this.#run(statement).catch(async (thrown: unknown) => {
      if (!isStopped(thrown)) throw thrown
      return await this.#run(statement)
    })
    const lines = text.split('\n').filter((line) => line.length > 0)
    // The caller wrote the SELECT and names the shape of its rows.
    return lines.map((line) => JSON.parse(line) as Row)
  }

  async #run(statement: string): Promise<string> {
    const { timeMaxMs } = this.#limits
    const { fileReaders, lateReads } = this.#engine
    let end = (): void => undefined
    const lateError = () => {
      end = lateReads.begin()
      return this.#engine.lateError(lateReadError(timeMaxMs))
    }
    return await fileReaders.lendWithin((session) => session.run(statement).finally(() => end()), {
      timeMaxMs: timeMaxMs + lateGraceMs,
      lateError,
    })
  }
}
