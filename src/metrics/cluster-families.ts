import { type Family, family, single } from './family.ts'
import type { ClusterCounts } from './service-state.types.ts'

/** What cluster control goes by, and what it does; what it refuses is among the limits. */
export function clusterFamilies(
  { memory, processor, limited, limitedCount }: ClusterCounts,
  labelsMax: number,
): readonly Family[] {
  return [
    single(
      'millrace_memory_used_bytes',
      'Memory that is used where least is left, in the container or the machine, without the page cache.',
      memory.usedBytes,
    ),
    single('millrace_memory_capacity_bytes', 'All of that memory.', memory.capacityBytes),
    single(
      'millrace_load_average',
      'Threads that run or want to, in the container or the machine, averaged over a minute.',
      processor.load,
    ),
    single('millrace_cores', 'Cores that they may use.', processor.coreCount),
    family('millrace_pressure', 'Whether cluster control sees pressure on memory or processors: 1 or 0.', [
      { labels: { resource: 'memory' }, value: memory.isOver ? 1 : 0 },
      { labels: { resource: 'processor' }, value: processor.isOver ? 1 : 0 },
    ]),
    family(
      'millrace_endpoint_concurrency_max',
      'Requests that an endpoint may have under way at once while cluster control limits it, by pipe.',
      limited.slice(0, labelsMax).map(({ name, concurrencyMax }) => {
        return { labels: { pipe: name }, value: concurrencyMax }
      }),
    ),
    single('millrace_endpoint_limits_total', 'How often cluster control began to limit an endpoint.', limitedCount),
  ]
}
