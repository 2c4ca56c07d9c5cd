import { readdir, readFile, readlink } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'

// What Linux says of a process and of those that it started, summed, by proc(5).

/** Linux counts processor time in hundredths of a second for every program (`getconf CLK_TCK`). */
const ticksPerSecond = 100

/** Processor seconds, user and system, of all threads since their start. */
export async function cpuSeconds(pid: number): Promise<number> {
  return await summed(pid, async (one) => {
    const line = await readFile(`/proc/${one}/stat`, 'utf8')
    // The second field is the program's name in parentheses and may hold blanks; what follows is field 3 on.
    const fields = line.slice(line.lastIndexOf(')') + 2).split(' ')
    return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
  })
}

/** Seconds that the main thread of this one process has run since its start. */
export async function mainThreadSeconds(pid: number): Promise<number> {
  // The first number is nanoseconds on a processor; the ticks of `stat` are too coarse for a short run.
  const [nanoseconds] = (await readFile(`/proc/${pid}/task/${pid}/schedstat`, 'utf8')).split(' ')
  return Number(nanoseconds) / 1e9
}

/** A figure of `status`: `VmRSS` (resident) and `VmHWM` (the highest it was) in bytes, `Threads` as a count. */
export async function statusSum(pid: number, field: 'Threads' | 'VmHWM' | 'VmRSS'): Promise<number> {
  return await summed(pid, async (one) => figureIn(await readFile(`/proc/${one}/status`, 'utf8'), field))
}

/** Bytes: `Pss` counts what processes share once, `Anonymous` is what no file backs. */
export async function rollupSum(pid: number, field: 'Anonymous' | 'Pss'): Promise<number> {
  return await summed(pid, async (one) => figureIn(await readFile(`/proc/${one}/smaps_rollup`, 'utf8'), field))
}

/** Open descriptors whose target has these characters in it. */
export async function descriptorCount(pid: number, part: string): Promise<number> {
  return await summed(pid, async (one) => {
    const names = await readdir(`/proc/${one}/fd`)
    // One that was closed meanwhile is none.
    const targets = await Promise.all(names.map((name) => readlink(`/proc/${one}/fd/${name}`).catch(() => null)))
    return targets.filter((target) => target?.includes(part)).length
  })
}

/** Samples at once and then at each interval until the work has ended; whoever awaits the work hears of its failure. */
export async function sampleUntil(
  work: Promise<unknown>,
  intervalMs: number,
  sample: () => Promise<void>,
): Promise<void> {
  const ended = work.then(
    () => true,
    () => true,
  )
  for (let isOver = false; !isOver; isOver = await Promise.race([ended, delay(intervalMs, false, { ref: false })])) {
    await sample()
  }
}

async function summed(pid: number, figure: (pid: number) => Promise<number>): Promise<number> {
  const [first = pid, ...started] = await processTree(pid)
  // A process that it started may have ended meanwhile.
  const figures = await Promise.all([figure(first), ...started.map((one) => figure(one).catch(() => 0))])
  return figures.reduce((total, one) => total + one, 0)
}

/** The process and all below it. */
async function processTree(pid: number): Promise<readonly number[]> {
  const tasks = await readdir(`/proc/${pid}/task`).catch(() => [])
  const lists = await Promise.all(
    tasks.map((task) => readFile(`/proc/${pid}/task/${task}/children`, 'utf8').catch(() => '')),
  )
  const children = lists.flatMap((list) => list.split(' ').filter((child) => child.trim() !== ''))
  const below = await Promise.all(children.map((child) => processTree(Number(child))))
  return [pid, ...below.flat()]
}

function figureIn(text: string, field: string): number {
  const [, amount, unit] = new RegExp(`^${field}:\\s+(\\d+)( kB)?$`, 'm').exec(text) ?? []
  if (amount === undefined) throw new Error(`no ${field} of the process`)
  return Number(amount) * (unit === undefined ? 1 : 1024)
}
