/**
 * An engine that has outlived its service holds the lock of its directory for a moment longer. It ends by itself, unless
 * it has crashed; only then it is ended from here.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'

/** The process that holds the engine's lock, when its service is gone; null when it is none of ours, or not alone. */
export function orphanOf(directory: string): number | null {
  try {
    const pid = Number(/^PID: (\d+)$/m.exec(readFileSync(join(directory, 'status'), 'utf8'))?.[1])
    const args = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
    const entry = args.findIndex((argument) => argument.endsWith('engine-child.js'))
    const serviceId = entry < 0 ? undefined : args[entry + 1]
    const parentId = /^\d+ \(.*\) \S (\d+)/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1]
    return serviceId === undefined || parentId === undefined || serviceId === parentId ? null : pid
  } catch {
    // No such file or process, or no /proc.
    return null
  }
}

/** Ends it, when it is still that. */
export function endOrphan(directory: string): void {
  const pid = orphanOf(directory)
  if (pid !== null) process.kill(pid, 'SIGKILL')
}
