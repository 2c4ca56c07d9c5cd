/**
 * Alters a data source and replays its quarantine, again and again, each time with a kill at some moment of it.
 *
 * After each kill an alter is whole or was not, in the table and in the quarantine; and of the rows of a replay each is
 * in the data source or in the quarantine, once, and all of a replay in the same place.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from '../free-port.ts'
import { SeededRandom } from '../seeded-random.ts'
import { createTestDirectory } from '../store/test-store.ts'
import { KillService, type ServiceWords } from './kill-service.ts'

export interface ChangeOptions {
  readonly rounds: number
  readonly rowsPerRound: number
  readonly seed: number
}

export interface ChangeReport {
  readonly kills: number
  /** Alters and replays that a kill came before, and those that it did not undo. */
  readonly undone: number
  readonly done: number
  readonly words: ServiceWords
  readonly checks: readonly ChangeCheck[]
}

export interface ChangeCheck {
  readonly what: string
  readonly expected: unknown
  readonly found: unknown
}

const name = 'changing'

export async function runChanges(options: ChangeOptions): Promise<ChangeReport> {
  const directory = await createTestDirectory()
  const service = new KillService(directory.path, await freePort())
  const run = new ChangeRun(service, options)
  try {
    await service.start()
    await run.fill()
    for (let round = 0; round < options.rounds; round += 1) {
      await run.alter(round)
      await run.replay(round)
    }
    await service.end('SIGTERM')
    const { kills, undone, done, checks } = run
    return { kills, undone, done, checks, words: service.words }
  } finally {
    await service.end('SIGKILL')
    await directory.remove()
  }
}

class ChangeRun {
  kills = 0
  undone = 0
  done = 0
  readonly checks: ChangeCheck[] = []
  readonly #service: KillService
  readonly #options: ChangeOptions
  readonly #random: SeededRandom
  #schema = 'id UInt32, round UInt8, v Int32'
  /** What a change gets before its kill grows while kills undo all of them: a machine may be slow. */
  #patience = 1

  constructor(service: KillService, options: ChangeOptions) {
    this.#service = service
    this.#options = options
    this.#random = new SeededRandom(options.seed)
  }

  /** Rows that all go to quarantine. */
  async fill(): Promise<void> {
    const { rounds, rowsPerRound } = this.#options
    await this.#service.call('POST', `/v0/datasources?${new URLSearchParams({ name, schema: this.#schema })}`)
    const lines = Array.from({ length: rounds * rowsPerRound }, (_, id) => `${id},${id % rounds},#${id}`)
    await this.#service.call('POST', `/v0/datasources?mode=append&name=${name}`, `id,round,v\n${lines.join('\n')}\n`)
  }

  async alter(round: number): Promise<void> {
    const schema = `${this.#schema}, c${round} Int8 DEFAULT ${round + 1}`
    const body = new URLSearchParams({ schema }).toString()
    // The trial of the definition comes first, and takes half of the time.
    await this.#killWhile(this.#service.call('POST', `/v0/datasources/${name}/alter`, body), 120)
    const shown = (await this.#service.call('GET', `/v0/datasources/${name}`)) as {
      readonly schema: { readonly columns: readonly { readonly name: string }[] }
    }
    const isDone = shown.schema.columns.some((column) => column.name === `c${round}`)
    this.#count(isDone)
    for (const table of [name, `${name}_quarantine`]) {
      const found = await this.#row(`SELECT count() AS n FROM ${table} WHERE isNull(c${round}) OR 1`).catch(() => null)
      this.checks.push({ what: `c${round} is in ${table}`, expected: isDone, found: found !== null })
    }
    if (!isDone) await this.#service.call('POST', `/v0/datasources/${name}/alter`, body)
    this.#schema = schema
  }

  async replay(round: number): Promise<void> {
    const path = `/v0/datasources/${name}/quarantine/replay`
    const order = { condition: `round = '${round}'`, fixes: { v: "replaceAll(v, '#', '')" } }
    await this.#killWhile(this.#service.call('POST', path, JSON.stringify(order)), 600)
    // It waits behind what the start goes on with, and chooses nothing itself.
    await this.#service.call('POST', path, JSON.stringify({ condition: "round = 'none'" }))
    const { rowsPerRound } = this.#options
    const stored = await this.#row(`SELECT count() AS n, uniqExact(id) AS ids FROM ${name} WHERE round = ${round}`)
    const left = await this.#row(
      `SELECT count() AS n, uniqExact(id) AS ids FROM ${name}_quarantine WHERE round = '${round}'`,
    )
    const isDone = Number(stored['n']) > 0
    this.#count(isDone)
    const all = { n: rowsPerRound, ids: rowsPerRound }
    const none = { n: 0, ids: 0 }
    this.checks.push(
      { what: `rows of ${round} in the data source`, expected: isDone ? all : none, found: numbers(stored) },
      { what: `rows of ${round} in quarantine`, expected: isDone ? none : all, found: numbers(left) },
    )
    if (!isDone) await this.#service.call('POST', path, JSON.stringify(order))
  }

  #count(isDone: boolean): void {
    if (isDone) this.done += 1
    else this.undone += 1
    if (this.done === 0) this.#patience *= 2
  }

  async #killWhile(change: Promise<unknown>, withinMs: number): Promise<void> {
    const cut = change.catch(() => 'cut off')
    await delay(this.#random.below(withinMs * this.#patience))
    await this.#service.end('SIGKILL')
    this.kills += 1
    await cut
    await this.#service.start()
  }

  async #row(sql: string): Promise<Readonly<Record<string, unknown>>> {
    // The format is asked for, and each query has one row.
    const { data } = (await this.#service.call('POST', '/v0/sql', `${sql} FORMAT JSON`)) as {
      readonly data: readonly Readonly<Record<string, unknown>>[]
    }
    return data[0] ?? {}
  }
}

/** 64-bit numbers may come as texts. */
function numbers({ n, ids }: Readonly<Record<string, unknown>>): object {
  return { n: Number(n), ids: Number(ids) }
}
