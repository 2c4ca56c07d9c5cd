/**
 * What the service may use and how much of it is used, looked at every few seconds.
 *
 * Memory is that of the level that has the least left: the machine, the container, or a group around it. Processors are the container's
 * where it has a quota: `os.loadavg()` is that of the whole machine, whose other containers have quotas of their own.
 * Linux has no load average of a group, so it is made here as Linux makes its own: the threads of the group that run or want to are
 * counted now and then, and averaged. What the group's clocks say counts where it is more, as they miss nothing between two looks.
 */
import { setImmediate } from 'node:timers/promises'
import type { Cgroup, ProcessorUse, ReadText } from './cgroup.ts'
import { LoadAverage } from './load-average.ts'
import type { Machine, MachineReading } from './machine.types.ts'

export interface MachineWatchDeps {
  readonly cgroup: Cgroup
  /** Of the machine: what `node:os` tells. */
  readonly machine: {
    readonly totalBytes: () => number
    readonly availableBytes: () => number
    readonly load: () => number
    readonly coreCount: () => number
  }
  readonly readText: ReadText
  /** The thread that looks, and so runs whenever it looks. */
  readonly ownThreadId: number
  /** Milliseconds of a clock that is never set back. */
  readonly now: () => number
}

/** Threads whose states are read before the event loop gets its turn: about 0.3 ms. */
const threadsAtOnce = 32
/** A container has hundreds; those beyond this are not counted. */
const threadsMax = 4_096

export class MachineWatch implements Machine {
  readonly #deps: MachineWatchDeps
  readonly #average = new LoadAverage()
  #reading: MachineReading
  #lastMs: number
  #last: ProcessorUse | null
  #isLooking = false

  constructor(deps: MachineWatchDeps) {
    this.#deps = deps
    this.#lastMs = deps.now()
    this.#last = deps.cgroup.processor()
    this.#reading = { memory: this.#memory(), processor: this.#processor(this.#last) }
  }

  get reading(): MachineReading {
    return this.#reading
  }

  /** Looks once more. A look that is called during another one does nothing. */
  async look(): Promise<void> {
    if (this.#isLooking) return
    this.#isLooking = true
    try {
      const use = this.#deps.cgroup.processor()
      if (use !== null) await this.#addLoad(use)
      this.#reading = { memory: this.#memory(), processor: this.#processor(use) }
    } finally {
      this.#isLooking = false
    }
  }

  async #addLoad(use: ProcessorUse): Promise<void> {
    const nowMs = this.#deps.now()
    const passedMs = nowMs - this.#lastMs
    // A group that was changed from outside may begin to count anew.
    const demandedMs = Math.max(0, use.demandMs - (this.#last?.demandMs ?? use.demandMs))
    const demanded = passedMs > 0 ? demandedMs / passedMs : 0
    this.#lastMs = nowMs
    this.#last = use
    this.#average.add(Math.max(demanded, await this.#runnableCount()), passedMs)
  }

  async #runnableCount(): Promise<number> {
    const { cgroup, readText, ownThreadId } = this.#deps
    let count = 0
    for (const [index, id] of cgroup.threadIds().slice(0, threadsMax).entries()) {
      if (index % threadsAtOnce === threadsAtOnce - 1) await setImmediate()
      if (id !== ownThreadId && isRunnable(readText(`/proc/${id}/stat`))) count += 1
    }
    return count
  }

  #processor(use: ProcessorUse | null): MachineReading['processor'] {
    if (use !== null) return { load: this.#average.value, coreCount: use.coreCount, of: 'container' }
    const { load, coreCount } = this.#deps.machine
    return { load: load(), coreCount: coreCount(), of: 'machine' }
  }

  #memory(): MachineReading['memory'] {
    const { cgroup, machine } = this.#deps
    const capacityBytes = machine.totalBytes()
    const ofMachine = { usedBytes: capacityBytes - machine.availableBytes(), capacityBytes }
    const ofContainer = cgroup.memory()
    const isContainer =
      ofContainer !== null && ofContainer.usedBytes * capacityBytes > ofMachine.usedBytes * ofContainer.capacityBytes
    return isContainer ? { ...ofContainer, of: 'container' } : { ...ofMachine, of: 'machine' }
  }
}

/** Whether the thread runs or wants to, or waits for the disk. The name in front, in brackets, may have any characters. */
function isRunnable(stat: string | null): boolean {
  const state = stat?.slice(stat.lastIndexOf(')') + 2, stat.lastIndexOf(')') + 3)
  return state === 'R' || state === 'D'
}
