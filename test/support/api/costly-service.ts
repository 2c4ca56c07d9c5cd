// Rows for which a DEFAULT takes more memory, or more time, than an INSERT may.

import { mebibyte } from '../../../src/shared/bytes.ts'
import type { Answer, TestService } from './test-service.ts'

/** Half of it is what one INSERT may take. */
export const engineMemoryBytesMax = 1024 * mebibyte
/** Takes 8 bytes times `n`, and no more time than they do. */
export const memorySchema = 'id UInt32 `json:$.id`, n UInt64 `json:$.n`, d UInt64 DEFAULT length(range(n))'
export const tooMuch = 100_000_000
/** 40 MB: 20 of them are more than an INSERT may take together. */
export const much = 5_000_000

/** Longest time of an INSERT of a test: a quick one takes a hundredth of it, and `slowCount` gives what takes several times it. */
export const insertTimeMaxMs = 1_000

/** Within it the engine cannot stop: a tenth of a second times `n` on a machine of today. */
const slowDefault =
  "arraySum(i -> length(replaceRegexpAll(repeat('abc', 300000), '(a|b|c)*?(b)', concat('x', toString(i)))), range(n))"
export const slowSchema = `id UInt32 \`json:$.id\`, n UInt64 \`json:$.n\`, d UInt64 DEFAULT ${slowDefault}`
/** What is enough for several times `insertTimeMaxMs` where nothing better is known. */
const slowCountMin = 40

/** An `n` for which `slowSchema` takes at least four times as long as `insertTimeMaxMs`, however fast the machine is. */
export async function slowCount(service: TestService): Promise<number> {
  const triedCount = 4
  await service.create('measured', slowSchema)
  let fastestMs = Number.POSITIVE_INFINITY
  for (let tries = 0; tries < 3; tries += 1) {
    const startMs = performance.now()
    await service.append('measured', 'ndjson', linesOf([triedCount]))
    fastestMs = Math.min(fastestMs, performance.now() - startMs)
  }
  return Math.max(slowCountMin, Math.ceil((4 * insertTimeMaxMs * triedCount) / fastestMs))
}

/** Asks again while what is quick takes too long all the same: on a machine that stops for a moment it does. */
export async function untilInTime(ask: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    const answer = await ask()
    if (!/takes too much time or memory/.test(answer.text)) return answer
  }
}

/** Sends an event until so many rows are stored; one that took too long all the same is set aside. */
export async function sendUntilStored(service: TestService, name: string, rowCount: number): Promise<void> {
  while ((await service.count(name)) < rowCount) {
    const { status, text } = await service.events(name, linesOf([0]), { wait: 'true' })
    if (status !== 200) throw new Error(`${name} answered ${status}: ${text}`)
  }
}

export async function stand(of: TestService, name: string): Promise<readonly [stored: number, setAside: number]> {
  const stored = await of.count(name)
  return [stored, await of.count(`${name}_quarantine`)]
}

export function linesOf(counts: readonly number[]): string {
  return counts.map((n, id) => JSON.stringify({ id, n })).join('\n')
}
