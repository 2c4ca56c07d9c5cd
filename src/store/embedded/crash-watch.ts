/**
 * Sees a native crash of a process that does not end by it.
 *
 * The engine takes SIGSEGV, SIGBUS, SIGABRT and their kin itself, and its handler sleeps for up to 300 s; JavaScript cannot
 * put the system's own back. But the thread that sleeps there has these signals blocked, and SIGTERM not, which no other
 * thread has: those of libuv block all signals, those of the engine none of these. The kernel tells it in /proc.
 */
import { readdirSync, readFileSync } from 'node:fs'

const bit = (signal: number): bigint => 1n << BigInt(signal - 1)
// SIGABRT, SIGBUS, SIGSEGV: the same numbers on all architectures of Linux that the engine is built for.
const crashSignals = bit(6) | bit(7) | bit(11)
const signalTerm = bit(15)

/** Whether `/proc/<pid>/task/<tid>/status` is that of a thread in the engine's handler of crashes. */
export function isInCrashHandler(status: string): boolean {
  const digits = /^SigBlk:\s*([0-9a-f]+)$/m.exec(status)?.[1]
  if (digits === undefined) return false
  const blocked = BigInt(`0x${digits}`)
  return (blocked & crashSignals) === crashSignals && (blocked & signalTerm) === 0n
}

export class CrashWatch {
  readonly #directory: string
  #suspected = new Set<string>()

  /** @param processId of the process, or `self`. */
  constructor(processId: number | 'self') {
    this.#directory = `/proc/${processId}/task`
  }

  /**
   * The name of a thread that was in the handler now and at the last call, or null: a handler that ends soon is none of a
   * crash. Always null where there is no /proc.
   */
  crashedThread(): string | null {
    const seen = new Set<string>()
    for (const thread of threadsIn(this.#directory)) {
      const status = statusOf(`${this.#directory}/${thread}`)
      if (!isInCrashHandler(status)) continue
      if (this.#suspected.has(thread)) return /^Name:\s*(.*)$/m.exec(status)?.[1] ?? thread
      seen.add(thread)
    }
    this.#suspected = seen
    return null
  }
}

function threadsIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory)
  } catch {
    // No /proc, or the process is gone, which is seen elsewhere.
    return []
  }
}

function statusOf(directory: string): string {
  try {
    return readFileSync(`${directory}/status`, 'utf8')
  } catch {
    // The thread has ended meanwhile.
    return ''
  }
}
