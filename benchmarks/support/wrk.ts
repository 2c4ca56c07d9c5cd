import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)

export interface WrkOrder {
  readonly url: string
  readonly connections: number
  readonly seconds: number
  /** A file in Lua that makes the requests. */
  readonly scriptPath: string
}

export interface WrkRun {
  readonly requestsPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Answers that were no 2xx or 3xx, and connections that failed. */
  readonly faultCount: number
}

/**
 * One run of wrk with one thread: a generator in C leaves the cores to what is measured, where one in JavaScript pulls
 * ratios toward 1.
 * @throws Error when wrk is missing (Debian: the package `wrk`), or says nothing that can be read.
 */
export async function runWrk({ url, connections, seconds, scriptPath }: WrkOrder): Promise<WrkRun> {
  const words = ['--threads=1', `--connections=${connections}`, `--duration=${seconds}s`, '--latency', '--timeout=30s']
  const { stdout } = await run('wrk', [...words, `--script=${scriptPath}`, url]).catch((cause: unknown) => {
    throw new Error('wrk did not run; Debian has it as the package wrk', { cause })
  })
  const textOf = (pattern: RegExp): string => {
    const text = pattern.exec(stdout)?.[1]
    if (text === undefined) throw new Error(`wrk says nothing of ${pattern}: ${stdout}`)
    return text
  }
  const refused = Number(/Non-2xx or 3xx responses: (\d+)/.exec(stdout)?.[1] ?? 0)
  const broken = /Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)/.exec(stdout)?.slice(1) ?? []
  return {
    requestsPerSecond: Number(textOf(/Requests\/sec:\s+([\d.]+)/)),
    p50Ms: milliseconds(textOf(/^\s+50%\s+(\S+)/m)),
    p99Ms: milliseconds(textOf(/^\s+99%\s+(\S+)/m)),
    faultCount: broken.reduce((sum, count) => sum + Number(count), refused),
  }
}

function milliseconds(text: string): number {
  const [, number = 'NaN', unit = ''] = /^([\d.]+)(us|ms|s|m)$/.exec(text) ?? []
  const factors: Readonly<Record<string, number>> = { us: 0.001, ms: 1, s: 1_000, m: 60_000 }
  return Number(number) * (factors[unit] ?? Number.NaN)
}
