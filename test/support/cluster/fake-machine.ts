import type { ClusterControlOptions } from '../../../src/cluster/cluster-control.types.ts'
import type { Machine, MachineReading } from '../../../src/cluster/machine.types.ts'
import { ServiceClusterControl } from '../../../src/cluster/service-cluster-control.ts'
import type { LogFields } from '../../../src/observe/logger.ts'

/** A machine of 1,000 bytes and two cores, at rest. */
export class FakeMachine implements Machine {
  usedBytes = 0
  load = 0
  coreCount = 2

  get reading(): MachineReading {
    const { usedBytes, load, coreCount } = this
    return {
      memory: { usedBytes, capacityBytes: 1_000, of: 'machine' },
      processor: { load, coreCount, of: 'machine' },
    }
  }
}

/** The values of the specification, and windows of ten seconds. */
export const clusterOptions: ClusterControlOptions = {
  clusterMemoryPercentMax: 80,
  clusterLoadPerCoreMax: 3,
  clusterErrorPercentMax: 10,
  clusterProcessorPercentMin: 20,
  clusterWindowMs: 10_000,
  endpointsMax: 3,
}

/** Cluster control whose time passes when it is told. */
export function openFakeCluster(given: Partial<ClusterControlOptions> = {}) {
  const options = { ...clusterOptions, ...given }
  const machine = new FakeMachine()
  const entries: { readonly level: string; readonly fields: LogFields; readonly message: string }[] = []
  const log = (level: string) => (fields: LogFields, message: string) => void entries.push({ level, fields, message })
  const delays: (() => void)[] = []
  let nowMs = 0
  const control = new ServiceClusterControl(options, {
    machine,
    logger: { info: log('info'), warn: log('warn') },
    now: () => nowMs,
    delay: async (_ms, signal) => {
      await new Promise<void>((resolve) => {
        delays.push(resolve)
        signal.addEventListener('abort', () => resolve())
      })
    },
  })
  return {
    control,
    machine,
    entries,
    /** What ends each delay that was asked for. */
    delays,
    pass(ms: number): void {
      nowMs += ms
    },
    /** Ends the window that runs. */
    turn(): void {
      nowMs += options.clusterWindowMs
      control.turnWindow()
    },
  }
}

/** One on a machine at rest. */
export function idleClusterControl(): ServiceClusterControl {
  return openFakeCluster().control
}
