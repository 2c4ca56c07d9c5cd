/**
 * The limits of the container that the process runs in, and what is used of them: the files of control groups, version 2 (one tree)
 * or 1 (a tree for each controller). A group is bounded by those above it too, so all levels up to the root of what can be seen are
 * looked at. In a container the path that `/proc/self/cgroup` tells may be one of the machine outside; the root is then the container's.
 *
 * @see https://docs.kernel.org/admin-guide/cgroup-v2.html, https://docs.kernel.org/admin-guide/cgroup-v1/
 */

/** The text of a file; null where there is none that can be read. */
export type ReadText = (path: string) => string | null

export interface MemoryUse {
  readonly usedBytes: number
  readonly capacityBytes: number
}

export interface ProcessorUse {
  /** What the group may use: a quota of 150 ms in a period of 100 ms are 1.5 cores. */
  readonly coreCount: number
  /** Time that its threads have run, and that processors with threads of it were held back for its quota, since it was made. */
  readonly demandMs: number
}

export interface Cgroup {
  /** Of the level that has the least left; null where no level has a limit. */
  readonly memory: () => MemoryUse | null
  /** Of the level with the smallest quota; null where none has one. */
  readonly processor: () => ProcessorUse | null
  /** The ids of all threads of the process's own group, the engine's among them. */
  readonly threadIds: () => readonly number[]
}

const root = '/sys/fs/cgroup'
const levelsMax = 32
/** Version 1 tells an absent limit as the largest number of pages. */
const memoryBytesMax = 2 ** 60

export function openCgroup(read: ReadText): Cgroup {
  const lines = (read('/proc/self/cgroup') ?? '').split('\n')
  return read(`${root}/cgroup.controllers`) === null ? new CgroupOne(read, lines) : new CgroupTwo(read, lines)
}

class CgroupTwo implements Cgroup {
  readonly #read: ReadText
  readonly #levels: readonly string[]

  constructor(read: ReadText, lines: readonly string[]) {
    this.#read = read
    this.#levels = levelsOf(root, pathOf(lines, ''))
  }

  memory(): MemoryUse | null {
    return tightest(this.#levels, (level) => {
      const capacityBytes = numberIn(this.#read(`${level}/memory.max`))
      const currentBytes = numberIn(this.#read(`${level}/memory.current`))
      if (capacityBytes === null || currentBytes === null) return null
      const counts = countsIn(this.#read(`${level}/memory.stat`))
      return memoryUse(capacityBytes, currentBytes, [
        counts.get('inactive_file'),
        counts.get('active_file'),
        counts.get('slab_reclaimable'),
      ])
    })
  }

  processor(): ProcessorUse | null {
    return smallest(this.#levels, (level) => {
      const [quota, period] = (this.#read(`${level}/cpu.max`) ?? '').split(/\s+/).map(Number)
      if (!isPositive(quota) || !isPositive(period)) return null
      const counts = countsIn(this.#read(`${level}/cpu.stat`))
      const demandUs = (counts.get('usage_usec') ?? 0) + (counts.get('throttled_usec') ?? 0)
      return { coreCount: quota / period, demandMs: demandUs / 1_000 }
    })
  }

  threadIds(): readonly number[] {
    return idsIn(firstOf(this.#levels, (level) => this.#read(`${level}/cgroup.threads`)))
  }
}

class CgroupOne implements Cgroup {
  readonly #read: ReadText
  readonly #memoryLevels: readonly string[]
  readonly #quotaLevels: readonly string[]
  /** Beside each level of the quota, that of the time that was used. */
  readonly #timeRoot: string

  constructor(read: ReadText, lines: readonly string[]) {
    this.#read = read
    this.#memoryLevels = levelsOf(`${root}/memory`, pathOf(lines, 'memory'))
    this.#quotaLevels = levelsOf(`${root}/cpu`, pathOf(lines, 'cpu'))
    this.#timeRoot = `${root}/cpuacct`
  }

  memory(): MemoryUse | null {
    return tightest(this.#memoryLevels, (level) => {
      const capacityBytes = numberIn(this.#read(`${level}/memory.limit_in_bytes`))
      const currentBytes = numberIn(this.#read(`${level}/memory.usage_in_bytes`))
      if (capacityBytes === null || currentBytes === null || capacityBytes >= memoryBytesMax) return null
      const counts = countsIn(this.#read(`${level}/memory.stat`))
      return memoryUse(capacityBytes, currentBytes, [
        counts.get('total_inactive_file'),
        counts.get('total_active_file'),
      ])
    })
  }

  processor(): ProcessorUse | null {
    return smallest(this.#quotaLevels, (level) => {
      const quota = numberIn(this.#read(`${level}/cpu.cfs_quota_us`))
      const period = numberIn(this.#read(`${level}/cpu.cfs_period_us`))
      if (!isPositive(quota) || !isPositive(period)) return null
      const usedNs = numberIn(this.#read(`${this.#timeRoot}${level.slice(`${root}/cpu`.length)}/cpuacct.usage`)) ?? 0
      const throttledNs = countsIn(this.#read(`${level}/cpu.stat`)).get('throttled_time') ?? 0
      return { coreCount: quota / period, demandMs: (usedNs + throttledNs) / 1_000_000 }
    })
  }

  threadIds(): readonly number[] {
    return idsIn(firstOf(this.#quotaLevels, (level) => this.#read(`${level}/tasks`)))
  }
}

/** The path that `/proc/self/cgroup` has for a controller; for version 2 the controller is empty. */
function pathOf(lines: readonly string[], controller: string): string {
  for (const line of lines) {
    const [, controllers = '', path = '/'] = /^\d+:([^:]*):(.*)$/.exec(line) ?? []
    // `/..` is outside of what the container sees.
    if (line !== '' && controllers.split(',').includes(controller)) return path.includes('/..') ? '/' : path
  }
  return '/'
}

/** The folders of a group and of those above it, its own first. */
function levelsOf(mount: string, path: string): readonly string[] {
  const names = path.split('/').filter((name) => name !== '')
  const levels = names.map((_, index) => `${mount}/${names.slice(0, index + 1).join('/')}`)
  return [mount, ...levels].reverse().slice(0, levelsMax)
}

function memoryUse(
  capacityBytes: number,
  currentBytes: number,
  reclaimable: readonly (number | undefined)[],
): MemoryUse {
  const reclaimableBytes = reclaimable.reduce<number>((sum, bytes) => sum + (bytes ?? 0), 0)
  return { capacityBytes, usedBytes: Math.max(0, currentBytes - reclaimableBytes) }
}

function tightest(levels: readonly string[], at: (level: string) => MemoryUse | null): MemoryUse | null {
  return levels.reduce<MemoryUse | null>((found, level) => {
    const use = at(level)
    if (use === null || found === null) return found ?? use
    return use.usedBytes * found.capacityBytes > found.usedBytes * use.capacityBytes ? use : found
  }, null)
}

function smallest(levels: readonly string[], at: (level: string) => ProcessorUse | null): ProcessorUse | null {
  return levels.reduce<ProcessorUse | null>((found, level) => {
    const use = at(level)
    return use !== null && (found === null || use.coreCount < found.coreCount) ? use : found
  }, null)
}

/** The text of the lowest level that has one: the path may be one of the machine outside. */
function firstOf(levels: readonly string[], at: (level: string) => string | null): string | null {
  for (const level of levels) {
    const text = at(level)
    if (text !== null) return text
  }
  return null
}

/** Lines of a name and a number. */
function countsIn(text: string | null): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const line of (text ?? '').split('\n')) {
    const [name = '', count] = line.split(' ')
    counts.set(name, Number(count))
  }
  return counts
}

function idsIn(text: string | null): readonly number[] {
  return (text ?? '').split('\n').filter(Boolean).map(Number)
}

/** Null where there is no number, such as `max`. */
function numberIn(text: string | null): number | null {
  const trimmed = text?.trim() ?? ''
  return /^-?\d+$/.test(trimmed) ? Number(trimmed) : null
}

function isPositive(value: number | null | undefined): value is number {
  return value !== null && value !== undefined && Number.isFinite(value) && value > 0
}
