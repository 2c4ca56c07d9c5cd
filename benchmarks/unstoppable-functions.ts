import { type ChildProcess, fork } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { aggregateFunctionNames, scalarFunctionNames } from '../src/schema/functions/function-names.ts'
import { ApiError } from '../src/shared/errors/errors.ts'
import { compileQuery } from '../src/sql/compile-query.ts'
import { settingsText } from '../src/store/sql/statement-settings.ts'
import { benchEnvironment, describeEnvironment, writeResult } from './support/bench-environment.ts'
import { aggregateColumns, callText, furtherCalls, kindNames } from './support/function-calls.ts'
import type { RunnerReport } from './support/function-runner.ts'
import { cpuSeconds } from './support/process-usage.ts'
import { textTable } from './support/text-table.ts'

/**
 * Which functions cannot be stopped? The engine looks at its time limit between blocks, so a function that takes long within
 * one runs on whatever `max_execution_time` says.
 *
 * Each function that a query may call is first tried with small arguments of all kinds, alone, in pairs, and in threes that
 * begin like a pair that it takes; up to --signatures (4) of what it takes it then gets with large values, under a limit of
 * one second. So are the calls of `furtherCalls`, written by hand. A call that takes more than --seconds (1.5) of processor
 * time runs on: its process is killed, and the call is on the list. Wall time does not count, so a busy machine may be used.
 * Calls go to the engine as the service sends them, with the bounds that it writes around arguments and the settings of the
 * query; those that it refuses are not on the list.
 *
 * Options: --only (names, by commas), --kinds (further, scalar, aggregate), --seconds, --signatures, --out.
 */
const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    kinds: { type: 'string', default: 'further,scalar,aggregate' },
    seconds: { type: 'string', default: '1.5' },
    signatures: { type: 'string', default: '4' },
    out: { type: 'string', default: 'benchmarks/results/unstoppable-functions.json' },
  },
})
const secondsMax = Number(values.seconds)
const pollIntervalMs = 100
const wrongNumberOfArguments = 'Code: 42.'
/** Behind statements that only ask, as a second may pass on a busy machine. */
const withoutLimit = ' SETTINGS max_execution_time = 0'
/** Of a function that takes nearly all, as many beginnings are tried with one argument more. */
const beginsMax = 8
const largeKinds: ReadonlySet<string> = new Set(['integers', 'text', 'texts', 'ring', 'polygon', 'map', 'bitmap'])

interface RunningOn {
  readonly name: string
  readonly call: string
}

/** A process with the engine, replaced by another when it had to be killed. */
class Runner {
  readonly #directory: string
  #child: ChildProcess | undefined
  #directoryCount = 0

  constructor(directory: string) {
    this.#directory = directory
  }

  /** The answer or error, or null for a statement that ran on. */
  async run(sql: string): Promise<RunnerReport | null> {
    const child = this.#child ?? (await this.#start())
    const { pid } = child
    if (pid === undefined) throw new Error('the process has no id')
    const before = await cpuSeconds(pid)
    const report = nextReport(child)
    child.send({ sql })
    for (;;) {
      const found = await Promise.race([report, delay(pollIntervalMs, 'late' as const, { ref: false })])
      if (found !== 'late') {
        if ('error' in found && found.error.startsWith('ended')) this.#child = undefined
        return found
      }
      if ((await cpuSeconds(pid)) - before < secondsMax) continue
      this.close()
      return null
    }
  }

  close(): void {
    this.#child?.kill('SIGKILL')
    this.#child = undefined
  }

  async #start(): Promise<ChildProcess> {
    this.#directoryCount += 1
    const modulePath = fileURLToPath(import.meta.resolve('./support/function-runner.js'))
    const child = fork(modulePath, [join(this.#directory, String(this.#directoryCount))])
    await nextReport(child)
    this.#child = child
    return child
  }
}

function nextReport(child: ChildProcess): Promise<RunnerReport> {
  return new Promise((resolve) => {
    const ended = (code: number | null, signal: string | null) => resolve({ error: `ended: ${code ?? signal}` })
    child.once('exit', ended)
    child.once('message', (report) => {
      child.off('exit', ended)
      // `function-runner.ts` sends nothing else.
      resolve(report as RunnerReport)
    })
  })
}

await main()

async function main(): Promise<void> {
  const environment = benchEnvironment()
  const directory = await mkdtemp(join(tmpdir(), 'millrace-bench-'))
  const runner = new Runner(directory)
  try {
    const found = await runAll(runner)
    console.log(`\n${describeEnvironment(environment)}\n`)
    console.log(
      textTable(
        ['function', 'call'],
        found.map(({ name, call }) => [name, call.slice(0, 150)]),
      ),
    )
    const result = { question: 'unstoppable-functions', ...environment, options: values, functions: found }
    console.log(`written to ${writeResult(values.out, result)}`)
  } finally {
    runner.close()
    await rm(directory, { recursive: true, force: true })
  }
}

async function runAll(runner: Runner): Promise<readonly RunningOn[]> {
  const found: RunningOn[] = []
  const tryCall = async (name: string, sql: string): Promise<void> => {
    const sent = sentByService(sql)
    if (sent === null) return
    const report = await runner.run(sent)
    const isEnd = report !== null && 'error' in report && report.error.startsWith('ended')
    if (report !== null && !isEnd) return
    found.push({ name, call: shortened(sql) })
    console.log(`${isEnd ? 'ends the process' : 'runs on'}: ${shortened(sql).slice(0, 200)}`)
  }
  const only = values.only?.toLowerCase().split(',')
  const isAsked = (name: string) => only === undefined || only.includes(name.toLowerCase())
  const isKind = (kind: string) => values.kinds.split(',').includes(kind)
  if (isKind('further')) for (const { name, sql } of furtherCalls) if (isAsked(name)) await tryCall(name, sql)
  for (const name of await withoutAliases(runner, scalarFunctionNames)) {
    if (!isKind('scalar') || !isAsked(name)) continue
    for (const signature of await signaturesOf(runner, name)) {
      await tryCall(name, `SELECT ${callText(name, signature, 'large')} FORMAT Null`)
    }
  }
  for (const name of await withoutAliases(runner, aggregateFunctionNames)) {
    if (!isKind('aggregate') || !isAsked(name)) continue
    for (const call of await aggregateCallsOf(runner, name)) {
      await tryCall(name, `SELECT ${call} FROM numbers(3000000) FORMAT Null`)
    }
  }
  return found
}

/** A long run of one character is told by its length. */
function shortened(sql: string): string {
  return sql.replaceAll(/(\w)\1{99,}/g, (run, character: string) => `${character}… (${run.length} times)`)
}

/** The statement that the service makes of a query; null for one that it refuses. */
function sentByService(query: string): string | null {
  try {
    const { sql, settings } = compileQuery(query, { scope: { find: () => undefined } })
    const limits = Object.keys(settings).length === 0 ? '' : ` SETTINGS ${settingsText(settings)}`
    return `${sql} FORMAT Null${limits}`
  } catch (thrown) {
    if (!(thrown instanceof ApiError)) throw thrown
    return null
  }
}

/** The names as the engine writes them; an alias takes as long as what it stands for. */
async function withoutAliases(runner: Runner, names: string): Promise<readonly string[]> {
  const list = names.trim().split(/\s+/)
  const report = await runner.run(
    `SELECT name FROM system.functions WHERE alias_to = '' AND lower(name) IN (${list.map((name) => `'${name}'`).join(', ')}) ORDER BY name FORMAT TSV${withoutLimit}`,
  )
  if (report === null || 'error' in report) throw new Error(`the functions cannot be listed: ${JSON.stringify(report)}`)
  return report.text.trim().split('\n')
}

/** Kinds of arguments that the function takes, those with the most large values first. */
async function signaturesOf(runner: Runner, name: string): Promise<readonly (readonly string[])[]> {
  const taken: string[][] = []
  let candidates: string[][] = kindNames.map((kind) => [kind])
  for (let count = 1; count <= 3 && candidates.length > 0; count += 1) {
    const fitting: string[][] = []
    let isCountWrong = false
    for (const signature of candidates) {
      const report = await runner.run(`SELECT ${callText(name, signature, 'small')} FORMAT Null${withoutLimit}`)
      if (report === null || !('error' in report)) fitting.push(signature)
      else if (report.error.includes(wrongNumberOfArguments)) isCountWrong = true
      if (isCountWrong) break
    }
    taken.push(...fitting)
    if (fitting.length === 0 && !isCountWrong && count > 1) break
    const begins = fitting.length > 0 ? fitting.slice(0, beginsMax) : candidates
    candidates = begins.flatMap((begin) => kindNames.map((kind) => [...begin, kind]))
    if (count === 2 && fitting.length === 0) candidates = candidates.filter(([first, second]) => first === second)
  }
  return taken.toSorted((a, b) => largeCount(b) - largeCount(a)).slice(0, Number(values.signatures))
}

function largeCount(signature: readonly string[]): number {
  return signature.filter((kind) => largeKinds.has(kind)).length
}

async function aggregateCallsOf(runner: Runner, name: string): Promise<readonly string[]> {
  const pairs = aggregateColumns.flatMap((first) => aggregateColumns.map((second) => `${name}(${first}, ${second})`))
  const calls: string[] = []
  for (const call of [...aggregateColumns.map((column) => `${name}(${column})`), ...pairs]) {
    const report = await runner.run(`SELECT ${call} FROM numbers(3) FORMAT Null${withoutLimit}`)
    if (report !== null && !('error' in report)) calls.push(call)
    if (calls.length === Number(values.signatures)) break
  }
  return calls
}
