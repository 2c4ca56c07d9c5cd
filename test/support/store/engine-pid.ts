import { readdirSync, readFileSync } from 'node:fs'
import process from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'

/** The process of the engine that a service started, or null while it has none. Needs /proc. */
export function findEnginePid(serviceId = process.pid): number | null {
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const [args, state] = [textOf(`/proc/${name}/cmdline`), textOf(`/proc/${name}/stat`)]
    const parent = /^\d+ \(.*\) (\S) (\d+)/s.exec(state)
    // A zombie has no engine any more.
    if (parent?.[1] === 'Z' || Number(parent?.[2]) !== serviceId) continue
    if (args.includes('engine-child.js')) return Number(name)
  }
  return null
}

/** Waits until the service has an engine, another one than `old`. */
export async function untilEngine(serviceId = process.pid, old: number | null = null): Promise<number> {
  for (;;) {
    const pid = findEnginePid(serviceId)
    if (pid !== null && pid !== old) return pid
    await delay(10)
  }
}

/** Waits until the process is gone. */
export async function untilGone(pid: number): Promise<void> {
  for (;;) {
    const state = /^\d+ \(.*\) (\S)/s.exec(textOf(`/proc/${pid}/stat`))?.[1]
    if (state === undefined || state === 'Z') return
    await delay(10)
  }
}

/** The text of a file of `/proc`; empty where the process has ended. */
export function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    // The process has ended meanwhile.
    return ''
  }
}
