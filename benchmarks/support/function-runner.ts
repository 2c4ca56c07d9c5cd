import { Session } from 'chdb'

/** What the process that runs calls of functions is asked, and what it says: the answer as text, or the engine's message. */
export interface RunnerTask {
  readonly sql: string
}
export type RunnerReport = { readonly text: string } | { readonly error: string }

/** As a reader of the service with a time limit of one second. */
const limits = "max_execution_time = 1, max_memory_usage = 1250000000, max_threads = 1, timeout_overflow_mode = 'throw'"

const [directory] = process.argv.slice(2)
if (directory === undefined) throw new Error('the directory of the engine is missing')
const session = new Session(directory)
session.query(`SET ${limits}`)

// Synchronous on purpose: the process does nothing else, and is killed when a statement does not end.
process.on('message', ({ sql }: RunnerTask) => {
  process.send?.(run(sql))
})
process.on('disconnect', () => process.exit(0))
process.send?.({ text: 'ready' } satisfies RunnerReport)

function run(sql: string): RunnerReport {
  try {
    return { text: String(session.query(sql)) }
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) }
  }
}
