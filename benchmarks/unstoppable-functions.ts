import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { aggregateFunctionNames, scalarFunctionNames } from '../src/schema/functions/function-names.ts'
import { ApiError } from '../src/shared/errors/errors.ts'
import { compileQuery } from '../src/sql/compile-query.ts'
import { settingsText } from '../src/store/sql/statement-settings.ts'
import { readOptions, withBench } from './support/bench.ts'
import type { EngineAlone } from './support/engine-alone.ts'
import { aggregateColumns, callText, furtherCalls, kindNames } from './support/function-calls.ts'
import { cpuSeconds } from './support/process-usage.ts'
import { startEngine } from './support/processes.ts'
import type { Remote } from './support/remote-functions.ts'
import { report } from './support/report.ts'

/**
 * Which functions cannot be stopped? The engine looks at its time limit between blocks, so a function that takes long within
 * one runs on whatever `max_execution_time` says.
 *
 * Each function that a query may call is first tried with small arguments of all kinds, alone, in pairs, and in threes that
 * begin like a pair that it takes; up to --signatures of what it takes it then gets with large values, under a limit of
 * one second. So are the calls of `furtherCalls`, written by hand. A call that takes more than --seconds of processor
 * time runs on: its process is killed, and the call is on the list. Wall time does not count, so a busy machine may be used.
 * Calls go to the engine as the service sends them, with the bounds that it writes around arguments and the settings of the
 * query; those that it refuses are not on the list.
 * --only takes names.
 */
const options = readOptions({ only: '', kinds: 'further,scalar,aggregate', seconds: 1.5, signatures: 4 })
const pollIntervalMs = 100
/** As a reader of the service with a time limit of one second. */
const limits = "max_execution_time = 1, max_memory_usage = 1250000000, max_threads = 1, timeout_overflow_mode = 'throw'"
const wrongNumberOfArguments = 'Code: 42.'
/** Behind statements that only ask, as a second may pass on a busy machine. */
const withoutLimit = ' SETTINGS max_execution_time = 0'
/** Of a function that takes nearly all, as many beginnings are tried with one argument more. */
const beginsMax = 8
const largeKinds: ReadonlySet<string> = new Set(['integers', 'text', 'texts', 'ring', 'polygon', 'map', 'bitmap'])

/** The answer as text, the engine's message, or that the statement ran on or ended the process. */
type Outcome = { readonly text: string } | { readonly error: string } | { readonly end: string }

/** A process with the engine, replaced by another when it had to be killed. */
class Runner {
  readonly #directory: string
  #engine: Remote<EngineAlone> | undefined
  #directoryCount = 0

  constructor(directory: string) {
    this.#directory = directory
  }

  async run(sql: string): Promise<Outcome> {
    const engine = this.#engine ?? (await this.#start())
    const before = await cpuSeconds(engine.pid)
    const answered = engine.call('run', sql).then(
      (text): Outcome => ({ text }),
      (thrown: Error): Outcome =>
        thrown.message.endsWith(' ended') ? { end: 'ends the process' } : { error: thrown.message },
    )
    for (;;) {
      const found = await Promise.race([answered, delay(pollIntervalMs, 'late' as const, { ref: false })])
      if (found !== 'late') {
        if ('end' in found) this.#engine = undefined
        return found
      }
      if ((await cpuSeconds(engine.pid)) - before < options.seconds) continue
      await this.close()
      return { end: 'runs on' }
    }
  }

  async close(): Promise<void> {
    this.#engine?.kill()
    this.#engine = undefined
    await Promise.resolve()
  }

  async #start(): Promise<Remote<EngineAlone>> {
    this.#directoryCount += 1
    const engine = startEngine()
    await engine.call('open', { directory: join(this.#directory, String(this.#directoryCount)), settings: limits })
    this.#engine = engine
    return engine
  }
}

const found = await withBench(({ directory, opened }) => runAll(opened(new Runner(directory))))
const rows = found.map(({ name, call }) => [name, call.slice(0, 150)])
report({ header: ['function', 'call'], rows }, options.out, found)

async function runAll(runner: Runner): Promise<readonly { readonly name: string; readonly call: string }[]> {
  const found: { readonly name: string; readonly call: string }[] = []
  const tryCall = async (name: string, sql: string): Promise<void> => {
    const sent = sentByService(sql)
    if (sent === null) return
    const outcome = await runner.run(sent)
    if (!('end' in outcome)) return
    found.push({ name, call: shortened(sql) })
    console.log(`${outcome.end}: ${shortened(sql).slice(0, 200)}`)
  }
  const only = options.only.toLowerCase().split(',')
  const isAsked = (name: string) => options.only === '' || only.includes(name.toLowerCase())
  const isKind = (kind: string) => options.kinds.split(',').includes(kind)
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
  const outcome = await runner.run(
    `SELECT name FROM system.functions WHERE alias_to = '' AND lower(name) IN (${list.map((name) => `'${name}'`).join(', ')}) ORDER BY name FORMAT TSV${withoutLimit}`,
  )
  if (!('text' in outcome)) throw new Error(`the functions cannot be listed: ${JSON.stringify(outcome)}`)
  return outcome.text.trim().split('\n')
}

/** Kinds of arguments that the function takes, those with the most large values first. */
async function signaturesOf(runner: Runner, name: string): Promise<readonly (readonly string[])[]> {
  const taken: string[][] = []
  let candidates: string[][] = kindNames.map((kind) => [kind])
  for (let count = 1; count <= 3 && candidates.length > 0; count += 1) {
    const fitting: string[][] = []
    let isCountWrong = false
    for (const signature of candidates) {
      const outcome = await runner.run(`SELECT ${callText(name, signature, 'small')} FORMAT Null${withoutLimit}`)
      if (!('error' in outcome)) fitting.push(signature)
      else if (outcome.error.includes(wrongNumberOfArguments)) isCountWrong = true
      if (isCountWrong) break
    }
    taken.push(...fitting)
    if (fitting.length === 0 && !isCountWrong && count > 1) break
    const begins = fitting.length > 0 ? fitting.slice(0, beginsMax) : candidates
    candidates = begins.flatMap((begin) => kindNames.map((kind) => [...begin, kind]))
    if (count === 2 && fitting.length === 0) candidates = candidates.filter(([first, second]) => first === second)
  }
  return taken.toSorted((a, b) => largeCount(b) - largeCount(a)).slice(0, options.signatures)
}

function largeCount(signature: readonly string[]): number {
  return signature.filter((kind) => largeKinds.has(kind)).length
}

async function aggregateCallsOf(runner: Runner, name: string): Promise<readonly string[]> {
  const pairs = aggregateColumns.flatMap((first) => aggregateColumns.map((second) => `${name}(${first}, ${second})`))
  const calls: string[] = []
  for (const call of [...aggregateColumns.map((column) => `${name}(${column})`), ...pairs]) {
    const outcome = await runner.run(`SELECT ${call} FROM numbers(3) FORMAT Null${withoutLimit}`)
    if (!('error' in outcome)) calls.push(call)
    if (calls.length === options.signatures) break
  }
  return calls
}
