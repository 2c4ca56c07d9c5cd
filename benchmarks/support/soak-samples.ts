import { setTimeout as delay } from 'node:timers/promises'
import { monotonicMs } from './monotonic-clock.ts'
import { memoryUsage } from './process-usage.ts'
import { slopeOf } from './statistics.ts'

/** The service at one moment of a long run. */
export interface SoakSample {
  /** Since the first sample. */
  readonly atMinute: number
  readonly residentBytes: number
  /** Parts of the table that queries read. */
  readonly partCount: number
}

export interface SoakSampling {
  readonly pid: number
  readonly intervalMs: number
  readonly countParts: () => Promise<number>
  readonly onSample: (sample: SoakSample) => void
}

/** Samples until the work has ended, and gives what was seen. */
export async function sampleDuring(
  work: Promise<unknown>,
  { pid, intervalMs, countParts, onSample }: SoakSampling,
): Promise<readonly SoakSample[]> {
  const samples: SoakSample[] = []
  const startedAtMs = monotonicMs()
  const ended = work.then(
    () => true,
    () => true,
  )
  for (;;) {
    const atMinute = (monotonicMs() - startedAtMs) / 60_000
    const { residentBytes } = await memoryUsage(pid)
    const sample = { atMinute, residentBytes, partCount: await countParts() }
    samples.push(sample)
    onSample(sample)
    if (await Promise.race([ended, delay(intervalMs, false)])) return samples
  }
}

/** Growth of the resident memory over the second half of the samples, in bytes a minute, and their mean. */
export function memoryTrend(samples: readonly SoakSample[]): { readonly slope: number; readonly mean: number } {
  const half = samples.slice(Math.floor(samples.length / 2))
  const points = half.map(({ atMinute, residentBytes }) => ({ x: atMinute, y: residentBytes }))
  return { slope: slopeOf(points), mean: points.reduce((total, { y }) => total + y, 0) / points.length }
}
