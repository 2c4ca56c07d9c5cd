import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'

/** How often a starting server is asked; small beside the 250 ms and more that an engine takes to open. */
const pollIntervalMs = 50
const logBytesMax = 16 * 1024

export interface ReadinessOptions {
  readonly child: ChildProcess
  /** Asked until it answers 200. */
  readonly url: string
  /** How long it may stand still: without a word, and without an answer, while it takes next to no time of a processor. */
  readonly standstillMsMax: number
  /** The last words of the child, for the error. */
  readonly lastLog: () => string
}

/** Seconds of a processor that a start may take: a busy machine gives them later, and none of its own. */
const startProcessorSecondsMax = 120
/** A server that waits for nobody takes more of a processor in a second of its start. */
const standstillShare = 0.001

/**
 * Waits until a server that runs as a child process answers, by what it does and not by the clock.
 * @throws Error with the child's last output when it ends first, stands still, or takes far more time of processors than a start.
 */
export async function untilReady({ child, url, standstillMsMax, lastLog }: ReadinessOptions): Promise<void> {
  let since = { ms: Date.now(), seconds: 0, log: '' }
  for (;;) {
    if (hasEnded(child)) throw new Error(`the server ended at its start: ${lastLog()}`)
    if (await answers(url)) return
    const seconds = processorSeconds(child.pid)
    if (seconds > startProcessorSecondsMax) {
      throw new Error(`no answer from ${url} within ${startProcessorSecondsMax} s of a processor: ${lastLog()}`)
    }
    const waitedMs = Date.now() - since.ms
    const hasGoneOn = lastLog() !== since.log || (seconds - since.seconds) * 1_000 > waitedMs * standstillShare
    if (waitedMs > standstillMsMax && !hasGoneOn) {
      throw new Error(`no answer from ${url}, which stood still for ${standstillMsMax} ms: ${lastLog()}`)
    }
    if (waitedMs > standstillMsMax) since = { ms: Date.now(), seconds, log: lastLog() }
    await delay(pollIntervalMs)
  }
}

/** Time of processors that a process has taken, without its children's; 0 where the system does not say. */
function processorSeconds(pid: number | undefined): number {
  try {
    // Behind the name, which may hold blanks, the fields are parted by them: user and system time in hundredths of a second.
    const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]?.split(' ') ?? []
    return (Number(fields[11]) + Number(fields[12])) / 100
  } catch {
    // It has just ended, or there is no such file here.
    return 0
  }
}

/** Gives the child `graceMs` to end after `ask` asked it to, then kills it. Resolves when it is gone. */
export async function endChild(child: ChildProcess, ask: () => void, graceMs: number): Promise<void> {
  if (hasEnded(child)) return
  const ended = once(child, 'exit')
  const timer = setTimeout(() => child.kill('SIGKILL'), graceMs)
  ask()
  await ended
  clearTimeout(timer)
}

/** Keeps the last 16 KiB of what the streams say; the function returned gives them as text. */
export function keepLastLog(...streams: readonly Readable[]): () => string {
  let kept = ''
  for (const stream of streams) {
    stream.setEncoding('utf8')
    stream.on('data', (text: string) => {
      kept = (kept + text).slice(-logBytesMax)
    })
  }
  return () => kept.trim()
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null
}

async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2_000) })
    await response.arrayBuffer()
    return response.ok
  } catch {
    // Nobody listens yet; the caller asks again until its deadline.
    return false
  }
}
