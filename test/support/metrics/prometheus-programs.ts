import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

export interface PrometheusPrograms {
  readonly prometheus: string
  readonly promtool: string
}

/**
 * The programs of Prometheus: those of the system, else those of Debian's package, which is unpacked into a folder and not installed.
 * Null on a system that has no packages of Debian; raises an error when the package cannot be fetched.
 */
export function findPrometheus(folder: string): PrometheusPrograms | null {
  const own = { prometheus: pathOf('prometheus'), promtool: pathOf('promtool') }
  if (own.prometheus !== '' && own.promtool !== '') return own
  if (pathOf('apt-get') === '' || pathOf('dpkg-deb') === '') return null
  const packages = join(folder, 'packages')
  mkdirSync(packages)
  // Where lists of packages are as old as the image, the first try is for a version that is gone.
  if (!isFetched(packages)) {
    run('apt-get', ['update', '-qq'], packages)
    if (!isFetched(packages)) throw new Error("Debian's package prometheus cannot be fetched with apt-get download")
  }
  const [name = ''] = readdirSync(packages).filter((file) => file.endsWith('.deb'))
  const unpacked = join(folder, 'unpacked')
  run('dpkg-deb', ['-x', join(packages, name), unpacked], packages)
  const programs = join(unpacked, 'usr/bin')
  return { prometheus: join(programs, 'prometheus'), promtool: join(programs, 'promtool') }
}

function pathOf(program: string): string {
  return spawnSync('sh', ['-c', `command -v ${program}`], { encoding: 'utf8' }).stdout.trim()
}

function isFetched(folder: string): boolean {
  const { status } = spawnSync('apt-get', ['download', 'prometheus'], { cwd: folder, encoding: 'utf8' })
  return status === 0 && existsSync(folder) && readdirSync(folder).some((file) => file.endsWith('.deb'))
}

function run(program: string, flags: readonly string[], cwd: string): void {
  const { status, stderr } = spawnSync(program, flags, { cwd, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${program} ${flags.join(' ')}: ${stderr}`)
}
