/**
 * The thread in which many sealed texts are opened, so that nobody waits for the event loop meanwhile: what a list of all tokens
 * costs here is a tenth of what opening its values does. It is started by the first batch, and keeps no process alive.
 */
import { Worker } from 'node:worker_threads'
import type { SealedRecord, SecretKey } from './secret-box.types.ts'

/** What the thread is asked; it answers with the texts in their order, one question after the other. */
export interface OpeningTask {
  readonly keys: ReadonlyMap<string, SecretKey['key']>
  readonly records: readonly (SealedRecord | null)[]
}

export type OpenedTexts = readonly (string | null)[]

interface Waiter {
  readonly resolve: (opened: OpenedTexts) => void
  readonly reject: (error: Error) => void
}

const isCompiled = import.meta.url.endsWith('.js')
const threadUrl = new URL(`../../workers/open-sealed.${isCompiled ? 'js' : 'ts'}`, import.meta.url)

class OpeningThread {
  readonly #thread = new Worker(threadUrl, { execArgv: isCompiled ? ['--enable-source-maps'] : process.execArgv })
  /** Those whose answers are to come, the next one first. */
  readonly #waiting: Waiter[] = []

  constructor(onEnd: () => void) {
    const end = (error: Error): void => {
      onEnd()
      for (const { reject } of this.#waiting.splice(0)) reject(error)
    }
    this.#thread.on('message', (opened: OpenedTexts) => {
      this.#waiting.shift()?.resolve(opened)
      if (this.#waiting.length === 0) this.#thread.unref()
    })
    this.#thread.on('error', end)
    this.#thread.on('exit', (code) => end(new Error(`the thread that opens sealed texts ended with ${code}`)))
  }

  open(task: OpeningTask): Promise<OpenedTexts> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject })
      this.#thread.ref()
      this.#thread.postMessage(task)
    })
  }
}

/** One for the process, whatever boxes there are. */
let current: OpeningThread | null = null

/** Opens a batch in the thread. @throws Error when the thread ends; the next batch starts another one. */
export function openInThread(task: OpeningTask): Promise<OpenedTexts> {
  const thread: OpeningThread =
    current ??
    new OpeningThread(() => {
      if (current === thread) current = null
    })
  current = thread
  return thread.open(task)
}
