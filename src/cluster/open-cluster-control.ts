import { readFileSync } from 'node:fs'
import { availableParallelism, freemem, loadavg, totalmem } from 'node:os'
import { performance } from 'node:perf_hooks'
import process from 'node:process'
import { setTimeout as wait } from 'node:timers/promises'
import type { Logger } from '../observe/logger.ts'
import { openCgroup } from './cgroup.ts'
import type { ClusterControl, ClusterControlOptions } from './cluster-control.types.ts'
import { MachineWatch } from './machine-watch.ts'
import { ServiceClusterControl } from './service-cluster-control.ts'

/** As often as Linux looks for its own load average. */
const lookMs = 5_000
/** More pipes than that are not in use at one time; each takes about 300 bytes. */
const endpointsMax = 10_000

export interface OpenedClusterControl extends ClusterControl {
  close(): Promise<void>
}

/** Watches the machine, or the container, and limits endpoints by it until it is closed. */
export function openClusterControl(
  options: Omit<ClusterControlOptions, 'endpointsMax'>,
  { logger }: { readonly logger: Logger },
): OpenedClusterControl {
  const now = (): number => performance.now()
  const machine = new MachineWatch({
    cgroup: openCgroup(readText),
    machine: {
      totalBytes: totalmem,
      availableBytes: freemem,
      load: () => loadavg()[0] ?? 0,
      coreCount: availableParallelism,
    },
    readText,
    ownThreadId: process.pid,
    now,
  })
  const control = new ServiceClusterControl({ ...options, endpointsMax }, { machine, logger, now, delay })
  let looking = Promise.resolve()
  const looks = setInterval(() => {
    looking = machine.look().catch((err: unknown) => {
      logger.error({ err }, 'The load of the machine could not be read.')
    })
  }, lookMs)
  const turns = setInterval(() => control.turnWindow(), options.clusterWindowMs)
  looks.unref()
  turns.unref()
  return {
    take: (pipe) => control.take(pipe),
    untilTold: (failure, signal) => control.untilTold(failure, signal),
    state: () => control.state(),
    async close() {
      clearInterval(looks)
      clearInterval(turns)
      await looking
    },
  }
}

async function delay(ms: number, signal: AbortSignal): Promise<void> {
  // It is rejected when it is aborted, and nothing else.
  await wait(ms, undefined, { signal, ref: false }).catch(() => {})
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    // The system has no such file, or the thread has ended.
    return null
  }
}
