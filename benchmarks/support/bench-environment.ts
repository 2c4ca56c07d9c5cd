import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { dirname, resolve } from 'node:path'
import { repositoryRoot } from '../../test/support/repository-root.ts'

/** Where and on what a result was measured. */
export interface BenchEnvironment {
  readonly takenAt: string
  /** Short commit, with `+changes` when the working copy differs from it. */
  readonly commit: string
  readonly machine: string
  readonly coreCount: number
  readonly memoryBytes: number
  readonly node: string
}

export function benchEnvironment(): BenchEnvironment {
  const cores = cpus()
  return {
    takenAt: new Date().toISOString(),
    commit: commitOf(repositoryRoot),
    machine: cores[0]?.model.trim() ?? 'unknown',
    coreCount: cores.length,
    memoryBytes: totalmem(),
    node: process.version,
  }
}

/** One line for the top of a printed table and for RESULTS.md. */
export function describeEnvironment(environment: BenchEnvironment): string {
  const memoryGb = Math.round(environment.memoryBytes / 1e9)
  const machine = `${environment.coreCount} × ${environment.machine}, ${memoryGb} GB`
  return `${environment.takenAt.slice(0, 10)}, commit ${environment.commit}, ${machine}, Node ${environment.node.slice(1)}`
}

/** Writes a result where `compare.ts` and RESULTS.md look for it; gives the path. */
export function writeResult(path: string, result: unknown): string {
  const absolute = resolve(repositoryRoot, path)
  mkdirSync(dirname(absolute), { recursive: true })
  writeFileSync(absolute, `${JSON.stringify(result, null, 2)}\n`)
  return absolute
}

function commitOf(folder: string): string {
  const git = (...words: string[]) =>
    execFileSync('git', words, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  try {
    const changes = git('status', '--porcelain', '--untracked-files=no').trim()
    return `${git('rev-parse', '--short', 'HEAD').trim()}${changes === '' ? '' : '+changes'}`
  } catch {
    // Not a clone, or nothing committed yet: the figures are still worth reading.
    return 'none'
  }
}
