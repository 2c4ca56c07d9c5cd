import { execFile, spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { eventRequests } from './event-requests.ts'
import type { SendingTask, SentEvents } from './send-events.ts'

/** What wrk tells of a run; it does not wait for the last answers, and knows no sums. */
export type WrkRun = Omit<SentEvents, 'total'>

/** Whether wrk is installed (Debian: the package `wrk`). */
export function hasWrk(): boolean {
  return spawnSync('wrk', ['--version']).error === undefined
}

/**
 * Sends the same bytes as the own generator by wrk, with one thread in C, which leaves the cores to what is measured. A refused
 * request (503) is followed by the next one at once.
 * @throws Error when a connection fails.
 */
export async function runWrk(task: SendingTask, directory: string): Promise<WrkRun> {
  const requests = eventRequests(task.bodies, task.target)
  const [script, bytes, sizes] = ['wrk.lua', 'wrk.bytes', 'wrk.sizes'].map((name) => join(directory, name))
  if (script === undefined || bytes === undefined || sizes === undefined) throw new Error('three files')
  await writeFile(bytes, Buffer.concat(requests.map((request) => request.bytes)))
  await writeFile(sizes, requests.map((request) => `${request.bytes.length}\n`).join(''))
  await writeFile(script, luaScript(bytes, sizes))
  const connections = `--connections=${task.connectionCount}`
  const words = ['--threads=1', connections, `--duration=${task.durationMs / 1_000}s`, '--timeout=30s']
  const { stdout } = await promisify(execFile)('wrk', [...words, `--script=${script}`, task.target.url])
  const told = /told (\d+) (\d+) (\d+) (\d+) (\d+) (\d+) (\d+)/.exec(stdout)
  if (told === null) throw new Error(`wrk said ${stdout}`)
  const [count = 0, micros = 0, refusedCount = 0, brokenCount = 0, p50 = 0, p99 = 0, max = 0] = told
    .slice(1)
    .map(Number)
  if (brokenCount > 0) throw new Error(`${brokenCount} connections of wrk failed`)
  const bodyCount = count - refusedCount
  return {
    bodyCount,
    refusedCount,
    rowCount: bodyCount * task.bodies.rowsPerBody,
    elapsedMs: micros / 1_000,
    answerMs: { p50: p50 / 1_000, p99: p99 / 1_000, max: max / 1_000 },
  }
}

function luaScript(bytes: string, sizes: string): string {
  return `local file = io.open("${bytes}", "rb")
local requests = {}
for size in io.lines("${sizes}") do requests[#requests + 1] = file:read(tonumber(size)) end
local n = 0
request = function()
  n = n % #requests + 1
  return requests[n]
end
done = function(summary, latency)
  local e = summary.errors
  io.write(("told %d %d %d %d %d %d %d"):format(summary.requests, summary.duration, e.status,
    e.connect + e.read + e.write + e.timeout, latency:percentile(50), latency:percentile(99), latency.max))
end
`
}
