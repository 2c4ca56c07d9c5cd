/**
 * Drops a data source under load and makes a namesake, again and again, with kills before, in the middle of and after it.
 *
 * Each generation of the name is checked twice: under a kill, all that was acknowledged for it is stored once, and nothing
 * of those before it; after a drop that a kill cut off, it is either gone, or as whole as if nobody had asked.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { openEmbeddedStore } from '../../../src/store/embedded/embedded-store.ts'
import { freePort } from '../free-port.ts'
import { SeededRandom } from '../seeded-random.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from '../store/test-store.ts'
import { KillService, type ServiceWords } from './kill-service.ts'
import { type Acknowledged, produce } from './producer.ts'

export interface BarrierOptions {
  readonly rounds: number
  readonly producers: number
  readonly seed: number
  /** Longest time of load before a kill or a drop. */
  readonly loadMsMax: number
}

export interface BarrierReport {
  readonly kills: number
  /** Drops that a kill came before. */
  readonly undoneDrops: number
  readonly rows: number
  readonly words: ServiceWords
  /** Each must have stored what it expected, and nothing foreign. */
  readonly checks: readonly BarrierCheck[]
  /** Tables of data sources that are there when all are dropped. */
  readonly tablesLeft: number
}

export interface BarrierCheck {
  readonly what: string
  readonly expected: Stored
  readonly stored: Stored
}

interface Stored {
  readonly rows: number
  readonly distinct: number
  /** Rows that were sent to another generation. */
  readonly foreign: number
}

const name = 'again'
const schema = 'id UInt64 `json:$.id`, producer UInt16 `json:$.producer`, n UInt32 `json:$.n`, pad String `json:$.pad`'
/** The number of a producer is that of its generation and a digit. */
const numbersPerRound = 10

export async function runBarriers(options: BarrierOptions): Promise<BarrierReport> {
  const directory = await createTestDirectory()
  const service = new KillService(directory.path, await freePort())
  const run = new BarrierRun(service, options)
  try {
    await service.start()
    for (let round = 0; round < options.rounds; round += 1) await run.round(round)
    await service.end('SIGTERM')
    const tablesLeft = await countTables(directory.path)
    const { kills, undoneDrops, rows, checks } = run
    return { kills, undoneDrops, rows, checks, words: service.words, tablesLeft }
  } finally {
    run.isOver = true
    await service.end('SIGKILL')
    await directory.remove()
  }
}

class BarrierRun {
  /** Set when the run ends, well or not: producers end with it. */
  isOver = false
  kills = 0
  undoneDrops = 0
  rows = 0
  readonly checks: BarrierCheck[] = []
  readonly #service: KillService
  readonly #options: BarrierOptions
  readonly #random: SeededRandom

  constructor(service: KillService, options: BarrierOptions) {
    this.#service = service
    this.#options = options
    this.#random = new SeededRandom(options.seed)
  }

  async round(round: number): Promise<void> {
    const { loadMsMax } = this.#options
    await this.#service.call('POST', `/v0/datasources?${new URLSearchParams({ name, schema })}`)
    // The answer's shape is what other tests check.
    const { id } = (await this.#service.call('GET', `/v0/datasources/${name}`)) as { readonly id: string }
    const killed = this.#load({ id, firstNumber: round * numbersPerRound })
    await delay(this.#random.below(loadMsMax))
    await this.#kill()
    await delay(this.#random.below(loadMsMax))
    const taken = await killed.end()
    await this.#check(round, taken, 'after a kill')
    const dropped = this.#load({ id, firstNumber: round * numbersPerRound + this.#options.producers })
    await delay(this.#random.below(loadMsMax))
    const dropping = this.#service.call('DELETE', `/v0/datasources/${name}`).catch(() => 'cut off')
    // A drop stores what waits, and takes some tens of milliseconds: before, in its middle, and after: half of the kills come at its very beginning.
    await delay(this.#random.below(this.#random.below(2) === 0 ? 6 : 80))
    await this.#kill()
    await dropping
    if (await this.#isThere(id)) {
      this.undoneDrops += 1
      const more = await dropped.end()
      await this.#check(round, sum([taken, more]), 'after a drop that did not begin')
      await this.#service.call('DELETE', `/v0/datasources/${name}`)
    } else await dropped.giveUp()
  }

  #load({ id, firstNumber }: { readonly id: string; readonly firstNumber: number }) {
    let state: 'given-up' | 'over' | 'running' = 'running'
    const producing = Array.from({ length: this.#options.producers }, (_, index) => {
      const number = firstNumber + index + 1
      return produce({
        number,
        address: this.#service.address,
        dataSource: id,
        random: new SeededRandom(this.#options.seed + number),
        isOver: () => this.isOver || state !== 'running',
        isGivenUp: () => this.isOver || state === 'given-up',
      })
    })
    const ended = Promise.all(producing)
    ended.catch(() => undefined)
    const stop = async (why: 'given-up' | 'over'): Promise<Acknowledged> => {
      state = why
      return sum(await ended)
    }
    return { end: () => stop('over'), giveUp: () => stop('given-up') }
  }

  async #kill(): Promise<void> {
    await this.#service.end('SIGKILL')
    this.kills += 1
    await this.#service.start()
  }

  async #isThere(id: string): Promise<boolean> {
    const { datasources } = (await this.#service.call('GET', '/v0/datasources')) as {
      readonly datasources: readonly { readonly id: string }[]
    }
    return datasources.some((one) => one.id === id)
  }

  async #check(round: number, { rows, quarantined }: Acknowledged, when: string): Promise<void> {
    await this.#service.untilStored(name)
    this.rows += rows + quarantined
    for (const [table, expected] of [
      [name, rows],
      [`${name}_quarantine`, quarantined],
    ] as const) {
      // Numbers begin at 1, so the last one of a round ends with 0 when there are five producers.
      const generation = `intDiv(toUInt32(assumeNotNull(producer)) - 1, ${numbersPerRound})`
      const sql = `SELECT count() AS rows, uniqExact(id) AS distinct, countIf(${generation} != ${round}) AS foreign FROM ${table} FORMAT JSON`
      const { data } = (await this.#service.call('POST', '/v0/sql', sql)) as { readonly data: readonly unknown[] }
      const stored = numbersOf(data[0])
      this.checks.push({
        what: `${table} ${round} ${when}`,
        expected: { rows: expected, distinct: expected, foreign: 0 },
        stored,
      })
    }
  }
}

function numbersOf(row: unknown): Stored {
  // The query above has these columns; 64-bit numbers come as texts.
  const { rows, distinct, foreign } = row as Readonly<Record<keyof Stored, string>>
  return { rows: Number(rows), distinct: Number(distinct), foreign: Number(foreign) }
}

function sum(all: readonly Acknowledged[]): Acknowledged {
  const total = { rows: 0, quarantined: 0, requests: 0, failedTries: 0 }
  for (const one of all) {
    total.rows += one.rows
    total.quarantined += one.quarantined
    total.requests += one.requests
    total.failedTries += one.failedTries
  }
  return total
}

async function countTables(path: string): Promise<number> {
  const store = await openEmbeddedStore(testStoreOptions(path), silentLogger)
  try {
    // Those of the service itself, which has its own rows in them, stay.
    return [...(await store.tables.list()).keys()].filter((name) => !name.startsWith('service_')).length
  } finally {
    await store.close()
  }
}
