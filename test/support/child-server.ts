import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'

/** How often a starting server is asked; small beside the 250 ms and more that an engine takes to open. */
const pollIntervalMs = 50
const logBytesMax = 16 * 1024

export interface ReadinessOptions {
  readonly child: ChildProcess
  /** Asked until it answers 200. */
  readonly url: string
  readonly timeoutMs: number
  /** The last words of the child, for the error. */
  readonly lastLog: () => string
}

/**
 * Waits until a server that runs as a child process answers.
 * @throws Error with the child's last output when it ends first or the time is over.
 */
export async function untilReady(options: ReadinessOptions): Promise<void> {
  const deadline = Date.now() + options.timeoutMs
  while (Date.now() < deadline) {
    if (hasEnded(options.child)) throw new Error(`the server ended at its start: ${options.lastLog()}`)
    if (await answers(options.url)) return
    await delay(pollIntervalMs)
  }
  throw new Error(`no answer from ${options.url} within ${options.timeoutMs} ms: ${options.lastLog()}`)
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
