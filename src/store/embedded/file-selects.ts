/**
 * Results that go through a file: the engine writes it, and it is streamed when it is whole. The engine's own streams restart
 * the format every 65,000 rows (a JSON document for each), and plan the query on the event loop; its results in memory hold
 * each answer twice. Through the file an answer of 210 MB took a quarter of the time and none of the memory.
 *
 * - A query that fails halfway fails before its first byte, and leaves no file. One that its caller gave up may make its file
 *   long after: that is removed when the statement has ended.
 * - The bytes count against what all results may take on disk from the first one on, until nobody reads them any more.
 * - The file loses its name as soon as it is opened, so none outlives the process.
 */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { SelectStream } from '../store.types.ts'
import { abortedError, toStoreError } from '../store-error.ts'
import type { EngineSession } from './engine-session.types.ts'
import { makeAgain } from './make-again.ts'
import type { OpenResults } from './open-results.ts'
import type { AdmittedSelect, ReaderStatements } from './reader-statements.ts'
import { checkComplete } from './result-complete.ts'
import { openResult } from './result-file.ts'
import { ResultGrowth } from './result-growth.ts'

interface FileSelectsOptions {
  /** Where the files lie. */
  readonly directory: string
  /** Most bytes of one. */
  readonly resultBytesMax: number
}

interface FileSelectsDeps {
  readonly statements: Pick<ReaderStatements, 'lend' | 'select'>
  readonly results: Pick<OpenResults, 'files' | 'keep'>
}

export class FileSelects {
  readonly #options: FileSelectsOptions
  readonly #deps: FileSelectsDeps

  constructor(options: FileSelectsOptions, deps: FileSelectsDeps) {
    this.#options = options
    this.#deps = deps
  }

  /** @param select its id names the file. @throws StoreError */
  async select({ query, id, isAlone }: Omit<AdmittedSelect, 'path'>): Promise<SelectStream> {
    const { directory, resultBytesMax: bytesMax } = this.#options
    const { statements, results } = this.#deps
    makeAgain(directory)
    const path = join(directory, id)
    const share = results.files.open()
    const growth = new ResultGrowth(path, { bytesMax, signal: query.signal, share })
    const remove = async (): Promise<void> => {
      growth.stop()
      await rm(path, { force: true })
      share.release()
    }
    let isRunning = false
    let isOver = false
    const work = async (session: EngineSession): Promise<void> => {
      isRunning = true
      growth.start()
      try {
        await statements.select(session, { query: { ...query, signal: growth.signal }, id, path, isAlone })
      } finally {
        isRunning = false
        if (isOver) await remove()
      }
    }
    try {
      await statements.lend(work, { signal: query.signal, passesPause: isAlone, owner: query.owner }, query.timeMaxMs)
      await growth.check()
      growth.stop()
      await checkComplete(path)
      const result = await openResult(path, query.signal)
      result.closed.finally(share.release).catch(() => undefined)
      results.keep(result)
      return result
    } catch (thrown) {
      isOver = true
      if (!isRunning) await remove()
      if (query.signal.aborted) throw abortedError()
      throw growth.refusal ?? toStoreError(thrown)
    }
  }
}
