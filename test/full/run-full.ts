// `npm run test:full` and `npm run test:soak`: what takes longer than a newcomer waits for. The files whose counts depend on
// the tier (`byTier`) and those of this folder; kills of a service under load; and the core of the API's tests on the other
// versions of Node that the service runs on. Ends with one plain line, "N passed, N failed", and exit code 1 when anything failed.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import process from 'node:process'
import { repositoryRoot } from '../support/repository-root.ts'

interface Step {
  readonly name: string
  readonly passed: number
  readonly failed: number
  readonly seconds: number
}

interface Totals {
  readonly passed: number
  readonly failed: number
}

const isSoak = process.env['TEST_TIER'] === 'soak'
const testsProgram = join(repositoryRoot, 'dist/test/run-tests.js')
const testFolder = join(repositoryRoot, 'dist/test')
const otherNodes = ['22', '24']
const slowestCount = 20
const steps: Step[] = []

await step('long tests', () => runTests(process.execPath, [...longFiles()]))
// Kills wait for starts most of the time, so the other versions of Node have the processor meanwhile.
await Promise.all([step('kills', runKills), runOtherNodes()])
const passed = steps.reduce((sum, { passed: count }) => sum + count, 0)
const failed = steps.reduce((sum, { failed: count }) => sum + count, 0)
if (isSoak) writeResults()
process.stdout.write(`\n${passed} passed, ${failed} failed\n`)
process.exit(failed === 0 && passed > 0 ? 0 : 1)

async function runOtherNodes(): Promise<void> {
  for (const major of otherNodes) {
    await step(`Node ${major}`, async () => {
      const program = await nodeOfVersion(major)
      return runTests(program, isSoak ? testFiles('.') : testFiles('api').filter(isCore), 'quick')
    })
  }
}

async function step(name: string, run: () => Promise<Totals>): Promise<void> {
  const startedAtMs = performance.now()
  process.stdout.write(`\n-- ${name}\n`)
  let totals: Totals = { passed: 0, failed: 1 }
  try {
    totals = await run()
  } catch (error) {
    process.stdout.write(`${String(error)}\n`)
  }
  const seconds = Math.round((performance.now() - startedAtMs) / 1000)
  process.stdout.write(`-- ${name}: ${totals.passed} passed, ${totals.failed} failed after ${seconds} s\n`)
  steps.push({ name, ...totals, seconds })
}

/** Test files below a folder of `dist/test`, as paths from the top of the repository. */
function testFiles(folder: string): readonly string[] {
  return readdirSync(join(testFolder, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.js'))
    .map((name) => relative(repositoryRoot, join(testFolder, folder, name)))
    .sort()
}

/** What tells most of a version of Node: bodies, packing, workers, native packages. */
function isCore(path: string): boolean {
  return /\/(?:counting|events|import-ways|imports|packed-ways|parquet|pipes)\.test\.js$/.test(path)
}

/** This folder's, and those that ask for the tier. The last in the alphabet take longest, and come first: nothing waits for them at the end. */
function longFiles(): readonly string[] {
  const isLong = (path: string): boolean => path.startsWith('dist/test/full/') || isScaled(path)
  return testFiles('.').filter(isLong).reverse()
}

function isScaled(path: string): boolean {
  return readFileSync(join(repositoryRoot, path), 'utf8').includes('/support/tier.js')
}

async function runTests(node: string, files: readonly string[], tier?: string): Promise<Totals> {
  const env = { ...process.env, ...(tier === undefined ? {} : { TEST_TIER: tier }) }
  const { code, text } = await ended(spawn(node, [testsProgram, ...files], { cwd: repositoryRoot, env }))
  const summary = [...text.matchAll(/^# \{ total: \d+.*\}$/gm)].at(-1)?.[0] ?? ''
  const count = (name: string): number => Number(new RegExp(`[{,] ${name}: (\\d+)`).exec(summary)?.[1] ?? 0)
  for (const line of text.split('\n').filter((one) => /^\s*not ok /.test(one))) process.stdout.write(`${line}\n`)
  process.stdout.write(`slowest: ${slowestOf(text)}\n`)
  return { passed: count('pass'), failed: code === 0 ? 0 : Math.max(1, count('fail')) }
}

/** The files that took longest, with their seconds: what to shorten when the whole takes too long. */
function slowestOf(text: string): string {
  const times = [...text.matchAll(/^(?:not )?ok dist\/test\/(\S+)\.test\.js.* # time=([\d.]+)s$/gm)]
  const sorted = times.map(([, name = '', seconds]) => ({ name, seconds: Number(seconds) }))
  sorted.sort((one, other) => other.seconds - one.seconds)
  return sorted
    .slice(0, slowestCount)
    .map(({ name, seconds }) => `${name} ${seconds.toFixed(0)}`)
    .join(', ')
}

async function runKills(): Promise<Totals> {
  const fewest = ['--kills', '10', '--barriers', '2', '--replaces', '5', '--replace-kills', '2', '--behind-kills', '2']
  const full = [...fewest, '--life-ms', '500', '--import-kills', '6', '--import-rows', '100000']
  const importSoak = ['--import-kills', '100', '--import-rows', '5000000', '--import-life-ms', '3000']
  const soak = [
    ...importSoak,
    '--kills',
    '1000',
    '--barriers',
    '50',
    '--replaces',
    '50',
    '--readers',
    '8',
    '--replace-kills',
    '20',
    '--behind-kills',
    '100',
  ]
  const program = join(testFolder, 'support/kill/kill-main.js')
  const child = spawn(process.execPath, ['--enable-source-maps', program, ...(isSoak ? soak : full)])
  const { code, text } = await ended(child)
  process.stdout.write(text)
  const checks = text.split('\n').filter((line) => line.startsWith('right ')).length
  const wrong = text.split('\n').filter((line) => line.startsWith('WRONG')).length
  return { passed: checks, failed: code === 0 ? 0 : Math.max(1, wrong) }
}

/** The newest release of a major version of Node, installed from npm beside the packages; the path of its program. */
async function nodeOfVersion(major: string): Promise<string> {
  const folder = join(repositoryRoot, 'node_modules/.cache/millrace-node', major)
  const name = `node-${process.platform}-${process.arch}`
  const program = join(folder, 'node_modules', name, 'bin/node')
  if (!existsSync(program)) {
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'package.json'), '{"private":true}\n')
    const install = ['install', '--no-package-lock', '--no-audit', '--no-fund', `${name}@${major}`]
    const { code, text } = await ended(spawn('npm', install, { cwd: folder }))
    if (code !== 0) throw new Error(`npm ${install.join(' ')} failed: ${text}`)
  }
  return program
}

async function ended(child: ChildProcess): Promise<{ readonly code: number | null; readonly text: string }> {
  const chunks: Buffer[] = []
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => chunks.push(chunk))
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, text: Buffer.concat(chunks).toString('utf8') }
}

function writeResults(): void {
  const results = { takenAt: new Date().toISOString(), node: process.version, steps }
  const path = join(repositoryRoot, 'benchmarks/results/tests-soak.json')
  writeFileSync(path, `${JSON.stringify(results, null, 2)}\n`)
  process.stdout.write(`written: ${relative(repositoryRoot, path)}\n`)
}
