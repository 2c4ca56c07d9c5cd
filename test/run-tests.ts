// `npm test`: runs test files, each in a Node process of its own, three at a time. tap's own runner would load its hooks for
// coverage into each of these processes and into all that they start: every service, engine and worker of a test would take
// twice as long to start.
//
// Arguments name files of `dist/test`; without any, all run but those of `full`. Each file gets a line; what a file says
// follows when it fails. Ends with tap's line of totals, `# { total: …, pass: …, fail: …, skip: … }`.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import process from 'node:process'
import { repositoryRoot } from './support/repository-root.ts'

/** Two leave a fifth of two cores idle: each file waits for the disk now and then, and for engines that start. */
const filesAtOnce = 3
/**
 * How long a file may say nothing. There is no other limit: each assertion is a line, so a file that goes on says so, however
 * long a busy machine takes over all of it.
 */
const silenceMaxSecondsOf: Readonly<Record<string, number>> = { quick: 300, full: 600, soak: 14_400 }
const silenceMaxSeconds = silenceMaxSecondsOf[process.env['TEST_TIER'] ?? 'quick'] ?? 300
/** tap has a clock of its own, for each test; a week is none. */
const tapTimeoutSeconds = 604_800

interface FileRun {
  readonly file: string
  /** Its TAP, and what it wrote to stderr. */
  readonly said: string
  readonly seconds: number
  /** Null when it passed. */
  readonly fault: string | null
}

const named = process.argv.slice(2).map((path) => relative(repositoryRoot, resolve(path)))
const waiting = named.length > 0 ? named : quickFiles()
const runs: FileRun[] = []
await Promise.all(Array.from({ length: filesAtOnce }, runFiles))
const total = runs.reduce((sum, { said }) => sum + countOf(said, 'total'), 0)
const skipped = runs.reduce((sum, { said }) => sum + countOf(said, 'skip'), 0)
// A file that ends by itself before its tests do has no failed test.
const failed = runs.reduce((sum, { said, fault }) => sum + (fault === null ? 0 : Math.max(1, countOf(said, 'fail'))), 0)
const passed = runs.reduce((sum, { said }) => sum + countOf(said, 'pass'), 0)
process.stdout.write(
  `\n# { total: ${Math.max(total, passed + failed)}, pass: ${passed}, fail: ${failed}, skip: ${skipped} }\n`,
)
process.exitCode = failed === 0 && passed > 0 ? 0 : 1

function quickFiles(): string[] {
  return readdirSync(join(repositoryRoot, 'dist/test'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.js') && !name.startsWith('full/'))
    .map((name) => join('dist/test', name))
    .sort()
}

async function runFiles(): Promise<void> {
  for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
    const run = await runFile(file)
    runs.push(run)
    const time = `# time=${run.seconds.toFixed(1)}s`
    process.stdout.write(
      run.fault === null ? `ok ${file} ${time}\n` : `not ok ${file}: ${run.fault} ${time}\n${run.said}\n`,
    )
  }
}

async function runFile(file: string): Promise<FileRun> {
  const startedAtMs = performance.now()
  const child = spawn(process.execPath, ['--enable-source-maps', file], {
    cwd: repositoryRoot,
    env: { ...process.env, TAP: '1', TAP_TIMEOUT: String(tapTimeoutSeconds) },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const said: string[] = []
  const silence = setTimeout(() => child.kill('SIGKILL'), silenceMaxSeconds * 1_000)
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      said.push(text)
      silence.refresh()
    })
  }
  await once(child, 'close')
  clearTimeout(silence)
  const seconds = (performance.now() - startedAtMs) / 1_000
  const end =
    child.signalCode === null
      ? `exit code ${child.exitCode}`
      : `${child.signalCode} after ${Math.round(seconds)} s (it may say nothing for ${silenceMaxSeconds} s)`
  return { file, said: said.join(''), seconds, fault: child.exitCode === 0 ? null : end }
}

/** A count of the line with which tap closes a file; a count that is 0 is left out of it. */
function countOf(said: string, name: string): number {
  const summary = [...said.matchAll(/^# \{ total: \d+.*\}$/gm)].at(-1)?.[0] ?? ''
  return Number(new RegExp(`[{,] ${name}: (\\d+)`).exec(summary)?.[1] ?? 0)
}
