import type { ClusterState, LimitedEndpoint } from '../../cluster/cluster-control.types.ts'

/** What `GET /v0/limits` tells of cluster control: pressure, and the endpoints that are limited for it. */
export function clusterShape({
  memory,
  processor,
  windowMs,
  limited,
  refusedCount,
  limitedCount,
}: ClusterState): object {
  return {
    memory: { ...snakeKeys(memory) },
    processor: { ...snakeKeys(processor) },
    window_ms: windowMs,
    refused: refusedCount,
    limited_count: limitedCount,
    limited: limited.map(endpointShape),
  }
}

function endpointShape(endpoint: LimitedEndpoint): object {
  const { pipeId, name, reason, concurrencyMax, concurrency, errorCount, successCount, refusedCount } = endpoint
  return {
    pipe_id: pipeId,
    name,
    reason,
    max: concurrencyMax,
    used: concurrency,
    errors: errorCount,
    successes: successCount,
    refused: refusedCount,
  }
}

/** `usedBytes` as `used_bytes`. */
function snakeKeys(fields: object): Record<string, unknown> {
  const snake = (key: string): string => key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  return Object.fromEntries(Object.entries(fields).map(([key, value]) => [snake(key), value]))
}
