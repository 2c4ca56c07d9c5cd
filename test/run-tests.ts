// `npm test`: runs test files in three processes (`support/runner`), each of which takes the next file when it has ended one, and
// gives way to a new process after some. tap's own runner would start a process for each file, and load its hooks for coverage
// into each and into all that they start: every service, engine and worker of a test would take twice as long to start.
//
// Arguments name files of `dist/test`; without any, all run but those of `full`. Each file gets a line; what a file says
// follows when it fails. Ends with tap's line of totals, `# { total: …, pass: …, fail: …, skip: … }`.

import { readdirSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import process from 'node:process'
import { repositoryRoot } from './support/repository-root.ts'
import { FileProcess, type FileRun } from './support/runner/file-process.ts'

/** Two leave a fifth of two cores idle: each file waits for the disk now and then, and for engines that start. */
const processesAtOnce = 3
/** What a process has loaded and kept of its files ends with it. */
const filesPerProcess = 12
/**
 * How long a file may say nothing. There is no other limit: each assertion is a line, so a file that goes on says so, however
 * long a busy machine takes over all of it.
 */
const silenceMaxSecondsOf: Readonly<Record<string, number>> = { quick: 300, full: 600, soak: 14_400 }
const silenceMaxSeconds = silenceMaxSecondsOf[process.env['TEST_TIER'] ?? 'quick'] ?? 300

const named = process.argv.slice(2).map((path) => relative(repositoryRoot, resolve(path)))
const waiting = named.length > 0 ? named : quickFiles()
const runs: FileRun[] = []
await Promise.all(Array.from({ length: processesAtOnce }, runProcesses))
const passed = runs.reduce((sum, { said }) => sum + assertsOf(said, 'passed'), 0)
const skipped = runs.reduce((sum, { said }) => sum + assertsOf(said, 'skipped'), 0)
// A file that ends before its tests do, or after them with a fault, has no failed test.
const failed = runs.reduce(
  (sum, { said, fault }) => sum + (fault === null ? 0 : Math.max(1, assertsOf(said, 'failed'))),
  0,
)
const total = passed + failed + skipped
process.stdout.write(`\n# { total: ${total}, pass: ${passed}, fail: ${failed}, skip: ${skipped} }\n`)
process.exitCode = failed === 0 && passed > 0 ? 0 : 1

function quickFiles(): string[] {
  return readdirSync(join(repositoryRoot, 'dist/test'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.js') && !name.startsWith('full/'))
    .map((name) => join('dist/test', name))
    .sort()
}

async function runProcesses(): Promise<void> {
  while (waiting.length > 0) {
    let left = filesPerProcess
    const next = (): string | undefined => (left-- > 0 ? waiting.shift() : undefined)
    await new FileProcess({ next, onEnd: add, silenceMaxSeconds }).ended()
  }
}

/** Tells a file's end, and all that it said when it failed. */
function add(ended: FileRun): void {
  const isEmpty = assertsOf(ended.said, 'passed') + assertsOf(ended.said, 'skipped') === 0
  const run = ended.fault === null && isEmpty ? { ...ended, fault: 'it checks nothing' } : ended
  runs.push(run)
  const time = `# time=${run.seconds.toFixed(1)}s`
  process.stdout.write(
    run.fault === null
      ? `ok ${run.file} ${time}\n`
      : `not ok ${run.file}: ${run.fault} ${time}\n${run.said.join('\n')}\n`,
  )
}

/** Counts of the TAP lines of single checks; those that close a test have its time, and are none. */
function assertsOf(said: readonly string[], kind: 'failed' | 'passed' | 'skipped'): number {
  const checks = said.filter((line) => /^ +(?:not )?ok \d+/.test(line) && !/ # time=[\d.]+ms/.test(line))
  if (kind === 'failed') return checks.filter((line) => /^ +not /.test(line)).length
  // tap writes a `#` of a check's own message as `\\#`.
  const passed = checks.filter((line) => /^ +ok /.test(line))
  const skipped = passed.filter((line) => / # (?:SKIP|TODO)/.test(line))
  return kind === 'skipped' ? skipped.length : passed.length - skipped.length
}
