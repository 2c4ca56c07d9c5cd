import { descriptorCount, rollupSum, statusSum } from './process-usage.ts'

/** What the tables and plots show of a service, its processes summed: memory in megabytes, and counts. */
export const memoryColumns = [
  'minute',
  'RSS',
  'PSS',
  'anonymous',
  'threads',
  'descriptors',
  'of tables',
  'columns added',
] as const
export type MemorySample = Readonly<Record<(typeof memoryColumns)[number], number>>

/** The service at this moment. */
export async function memorySample(
  pid: number,
  dataDirectory: string,
): Promise<Omit<MemorySample, 'columns added' | 'minute'>> {
  return {
    RSS: (await statusSum(pid, 'VmRSS')) / 1e6,
    PSS: (await rollupSum(pid, 'Pss')) / 1e6,
    anonymous: (await rollupSum(pid, 'Anonymous')) / 1e6,
    threads: await statusSum(pid, 'Threads'),
    descriptors: await descriptorCount(pid, ''),
    'of tables': await descriptorCount(pid, `${dataDirectory}/clickhouse/store`),
  }
}
