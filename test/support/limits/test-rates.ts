import type { Options } from '../../../src/config.ts'
import { readOptions } from '../../../src/config-reader.ts'
import { openRates, type Rates } from '../../../src/limits/rates.ts'
import { openSettings } from '../../../src/storage/settings.ts'
import { MemoryStorage } from '../storage/memory-storage.ts'

export const testCoreCount = 4

/** Options as a start with these flags has them, on a machine with so many cores. */
export function optionsOf(...flags: readonly string[]): Options {
  const machine = { coreCount: testCoreCount, memoryBytes: 8 * 1024 ** 3 }
  const reading = readOptions({ flags, environment: {}, machine })
  if (reading.kind !== 'options') throw new Error(`${flags.join(' ')} are no options`)
  return reading.options
}

/** Milliseconds; `usedMs` is what queries have used of the processor so far. */
export interface TestClock {
  nowMs: number
  usedMs?: number
}

/** The rates that a start with these flags has, by a clock of the test. */
export async function testRates(
  clock: TestClock,
  flags: readonly string[],
  storage = new MemoryStorage(),
): Promise<Rates> {
  const logger = { warn: () => undefined }
  const processorUse = () => ({ threadMs: clock.usedMs ?? 0, engine: null })
  const deps = { settings: await openSettings(storage), logger, processorUse, now: () => clock.nowMs }
  return openRates(optionsOf(...flags), deps)
}
