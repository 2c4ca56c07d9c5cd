import { readdir, readFile, readlink } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import type { ProbeAnswer } from './memory-probe.types.ts'

/** One process at one moment, by what the system knows of it. */
export interface ProcessMemory {
  readonly residentBytes: number
  /** Resident memory with what is shared counted once. */
  readonly proportionalBytes: number
  readonly anonymousBytes: number
  readonly fileBytes: number
  /** Resident in the arenas of the C library's allocator, the first of which is `[heap]`. */
  readonly libcBytes: number
  readonly libcArenas: number
  /** Page tables, and 16 KiB of stack in the kernel a thread. */
  readonly kernelBytes: number
  readonly threads: number
  readonly descriptors: Readonly<Record<string, number>>
  /** Null when the process did not load the probe, or does not answer. */
  readonly probe: ProbeAnswer | null
}

const kernelStackBytes = 16 * 1024
const arenaBytes = 64 * 1024 * 1024

/** The process and all below it. */
export async function processTree(pid: number): Promise<readonly number[]> {
  const tasks = await readdir(`/proc/${pid}/task`).catch(() => [])
  const lists = await Promise.all(
    tasks.map((task) => readFile(`/proc/${pid}/task/${task}/children`, 'utf8').catch(() => '')),
  )
  const children = lists.flatMap((list) => list.split(' ').filter((child) => child.trim() !== ''))
  const below = await Promise.all(children.map((child) => processTree(Number(child))))
  return [pid, ...below.flat()]
}

export async function processMemory(
  pid: number,
  { probeDirectory, dataDirectory }: { readonly probeDirectory: string; readonly dataDirectory: string },
): Promise<ProcessMemory> {
  const read = (name: string) => readFile(`/proc/${pid}/${name}`, 'utf8')
  const [rollup, status, smaps] = await Promise.all([read('smaps_rollup'), read('status'), read('smaps')])
  const threads = Number(/^Threads:\s+(\d+)$/m.exec(status)?.[1] ?? 0)
  return {
    residentBytes: kibibytes(rollup, 'Rss'),
    proportionalBytes: kibibytes(rollup, 'Pss'),
    anonymousBytes: kibibytes(rollup, 'Anonymous'),
    fileBytes: kibibytes(rollup, 'Pss_File'),
    ...libcMemory(smaps),
    kernelBytes: kibibytes(status, 'VmPTE') + threads * kernelStackBytes,
    threads,
    descriptors: await descriptorsByKind(pid, dataDirectory),
    probe: await askProbe(join(probeDirectory, `${pid}.sock`)).catch(() => null),
  }
}

function kibibytes(text: string, field: string): number {
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1] ?? 0) * 1024
}

interface Mapping {
  readonly start: number
  readonly end: number
  readonly permissions: string
  readonly name: string
  readonly residentBytes: number
}

// glibc's further arenas are 64 MiB that begin at a multiple of 64 MiB: what is used, and what is only reserved behind it.
function libcMemory(smaps: string): Pick<ProcessMemory, 'libcBytes' | 'libcArenas'> {
  const mappings = smaps.split(/^(?=[0-9a-f]+-[0-9a-f]+ )/m).flatMap(mappingOf)
  let [libcBytes, libcArenas] = [0, 0]
  mappings.forEach((mapping, index) => {
    const next = mappings[index + 1]
    const isReserved = next?.permissions === '---p' && next.start === mapping.end
    const isArena =
      mapping.permissions === 'rw-p' &&
      mapping.name === '' &&
      mapping.start % arenaBytes === 0 &&
      (isReserved ? next.end : mapping.end) === mapping.start + arenaBytes
    if (!isArena && mapping.name !== '[heap]') return
    libcBytes += mapping.residentBytes
    libcArenas += 1
  })
  return { libcBytes, libcArenas }
}

function mappingOf(text: string): readonly Mapping[] {
  const head = /^([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ \d+ *(.*)$/m.exec(text)
  if (head === null) return []
  const [, start = '0', end = '0', permissions = '', name = ''] = head
  // Addresses of programs have 47 bits, so a number holds them.
  return [
    { start: parseInt(start, 16), end: parseInt(end, 16), permissions, name, residentBytes: kibibytes(text, 'Rss') },
  ]
}

async function descriptorsByKind(pid: number, dataDirectory: string): Promise<Readonly<Record<string, number>>> {
  const names = await readdir(`/proc/${pid}/fd`)
  const counts: Record<string, number> = {}
  for (const name of names) {
    // One that was closed meanwhile is none.
    const target = await readlink(`/proc/${pid}/fd/${name}`).catch(() => null)
    if (target === null) continue
    const kind = kindOf(target, dataDirectory)
    counts[kind] = (counts[kind] ?? 0) + 1
  }
  return counts
}

function kindOf(target: string, dataDirectory: string): string {
  const special = /^(socket|pipe|anon_inode):\[?([a-z]*)/.exec(target)
  if (special !== null) return special[1] === 'anon_inode' ? (special[2] ?? 'anon_inode') : (special[1] ?? '')
  if (target.startsWith('/proc/')) return 'counters of threads'
  if (!target.startsWith(dataDirectory)) return target.startsWith('/dev/') ? 'device' : 'other files'
  const gone = target.endsWith(' (deleted)') ? ', deleted' : ''
  const path = target.slice(dataDirectory.length + 1)
  if (path.startsWith('wal/')) return `log${gone}`
  if (path.startsWith('catalog')) return `catalog${gone}`
  if (path.includes('deduplication_log')) return `deduplication logs${gone}`
  if (path.startsWith('clickhouse/store')) return `tables${gone}`
  return `${path.split('/')[0]}${gone}`
}

function askProbe(socketPath: string): Promise<ProbeAnswer> {
  return new Promise((resolve, reject) => {
    const asked = request({ socketPath, path: '/' }, (response) => {
      const pieces: Buffer[] = []
      response.on('data', (piece: Buffer) => pieces.push(piece))
      response.on('error', reject)
      response.on('end', () => {
        const text = Buffer.concat(pieces).toString()
        // `memory-probe.ts` writes it.
        if (response.statusCode === 200) resolve(JSON.parse(text) as ProbeAnswer)
        else reject(new Error(text))
      })
    })
    asked.setTimeout(30_000, () => asked.destroy(new Error('the probe does not answer')))
    asked.on('error', reject)
    asked.end()
  })
}
