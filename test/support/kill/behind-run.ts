/**
 * Parks a view that fails and has it catch up, again and again while events come, or imports beside them, each time with a kill at some
 * moment of it: while it is being parked, while it is parked, and while it takes what it lacks.
 *
 * Beside it one SELECT of a UNION ALL fails, whose other one goes on filling the same data source, and a view that reads what a sound view fills.
 *
 * After each kill the views catch up, and every row that was acknowledged is once in the table, in what another view fills, and in what
 * these do. Those that were not, of events and of imports, are in all of them or in none.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from '../free-port.ts'
import { SeededRandom } from '../seeded-random.ts'
import { createTestDirectory } from '../store/test-store.ts'
import { KillService, type ServiceWords, victims } from './kill-service.ts'

export interface BehindRunOptions {
  readonly rounds: number
  readonly seed: number
  /** Whether imports of small bodies come beside the events. */
  readonly hasImports: boolean
}

export interface BehindRunReport {
  readonly kills: number
  /** Kills before which the view was not parked yet, while it was, and while it caught up. */
  readonly moments: Readonly<Record<Moment, number>>
  /** Of the last ones, how many came before the answer. */
  readonly cutCatchUps: number
  readonly rows: number
  /** Imports that were answered, those of them that a view failed at first, and those cut off whose rows are stored all the same. */
  readonly imports: { readonly answered: number; readonly refused: number; readonly cut: number }
  /** Kills before which the SELECT of the UNION ALL was parked. */
  readonly unionParked: number
  readonly words: ServiceWords
  /** What is not as it must be; empty when all is. */
  readonly faults: readonly string[]
}

const moments = ['parking', 'parked', 'catching up'] as const
type Moment = (typeof moments)[number]

const blockRows = 20
const blocksPerRoundMax = 150
const tables = ['stream', 'sound_rows', 'risky_rows', 'united_rows', 'deep_rows']
const failingPipes = ['risky', 'united', 'deep'] as const
/** The view fails at them while nothing is in `mended`. */
const unlucky = 13

export async function runBehind({ rounds, seed, hasImports }: BehindRunOptions): Promise<BehindRunReport> {
  const directory = await createTestDirectory()
  const service = new KillService(directory.path, await freePort())
  const run = new BehindRun(service, new SeededRandom(seed), hasImports)
  try {
    await service.start()
    await run.setUp()
    for (let round = 0; round < rounds; round += 1) await run.round()
    await service.end('SIGTERM')
    const { kills, moments: counted, cutCatchUps, rows, imports, unionParked, faults } = run
    // That the view fails is what is wanted.
    const errors = service.words.errors.filter((line) => !line.includes('unlucky'))
    const words = { ...service.words, errors }
    return { kills, moments: counted, cutCatchUps, rows, imports, unionParked, faults, words }
  } finally {
    await service.end('SIGKILL')
    await directory.remove()
  }
}

interface ShownBehind {
  readonly view: string
  readonly state: string
  readonly blocks: number
}

class BehindRun {
  kills = 0
  cutCatchUps = 0
  rows = 0
  readonly moments: Record<Moment, number> = { parking: 0, parked: 0, 'catching up': 0 }
  readonly faults: string[] = []
  readonly imports = { answered: 0, refused: 0, cut: 0 }
  unionParked = 0
  readonly #service: KillService
  readonly #random: SeededRandom
  readonly #hasImports: boolean
  /** Rows that were acknowledged, by their numbers' block. */
  readonly #acknowledged = new Set<number>()
  /** Blocks of imports that were cut off. */
  readonly #cut = new Set<number>()
  #isSending = false
  #blocks = 0

  constructor(service: KillService, random: SeededRandom, hasImports: boolean) {
    this.#service = service
    this.#random = random
    this.#hasImports = hasImports
  }

  async setUp(): Promise<void> {
    const schema = 'block+UInt32,id+UInt64,n+UInt32'
    await this.#service.call('POST', `/v0/datasources?name=stream&schema=${schema}`)
    await this.#service.call('POST', '/v0/datasources?name=mended&schema=n+UInt32')
    // Of several partitions, so that a block may be in some of them and not in others.
    const more = '&engine=MergeTree&engine_sorting_key=id&engine_partition_key=id%25%203'
    await this.#link('sound', 'SELECT block, id, n FROM stream', '')
    const fails = `n >= ${unlucky} AND (SELECT count() FROM mended) = 0`
    const risky = `SELECT block, id, n + throwIf(${fails}, 'unlucky') AS n FROM stream`
    await this.#link('risky', risky, more)
    await this.#link(
      'united',
      `SELECT block, id, n FROM stream WHERE id % 2 = 0 UNION ALL ${risky} WHERE id % 2 = 1`,
      '',
    )
    await this.#link('deep', risky.replace('FROM stream', 'FROM sound_rows'), more)
  }

  async round(): Promise<void> {
    await this.#service.call('POST', '/v0/datasources/mended/truncate')
    this.#isSending = true
    const sending = this.#sendUntilCut()
    const moment = moments[this.#random.below(moments.length)] ?? 'parking'
    const trying = await this.#untilMoment(moment)
    const victim = victims[this.#random.below(victims.length)] ?? 'both'
    if ((await this.#behind()).some(({ view }) => view.startsWith('united.'))) this.unionParked += 1
    await this.#service.kill(victim)
    this.kills += 1
    this.moments[moment] += 1
    this.#isSending = false
    await Promise.all([sending, trying.ended])
    if (trying.wasCut()) this.cutCatchUps += 1
    await this.#catchUp()
    await this.#check()
  }

  async #untilMoment(moment: Moment): Promise<{ readonly ended: Promise<void>; readonly wasCut: () => boolean }> {
    const nothing = { ended: Promise.resolve(), wasCut: () => false }
    if (moment === 'parking') {
      await delay(this.#random.below(900))
      return nothing
    }
    const awaited = `${this.#random.pick(failingPipes)}.`
    while (!(await this.#behind()).some(({ view }) => view.startsWith(awaited))) await delay(10)
    await delay(this.#random.below(400))
    if (moment === 'parked') return nothing
    await this.#mend()
    let isCut = false
    const trying = this.#service.call('POST', catchUpPathOf(this.#random.pick(failingPipes))).then(
      () => undefined,
      () => {
        isCut = true
      },
    )
    await delay(this.#random.below(250))
    return { ended: trying, wasCut: () => isCut }
  }

  /** By hand, as the service's own tries have pauses. */
  async #catchUp(): Promise<void> {
    await this.#mend()
    for (;;) {
      await this.#service.untilStored('stream')
      const behind = await this.#behind()
      if (behind.length === 0) return
      for (const { view, state } of behind) if (state !== 'parked') this.faults.push(`${view} is ${state}`)
      if (this.faults.length > 0) return
      try {
        for (const { view } of behind) await this.#service.call('POST', catchUpPathOf(view.split('.')[0] ?? ''))
      } catch {
        // The engine may be starting still.
        await delay(50)
      }
    }
  }

  async #check(): Promise<void> {
    const counts = new Map<string, ReadonlyMap<number, string>>()
    for (const table of tables) {
      const rows = await this.#select(
        `SELECT block, count() AS c, uniqExact(id) AS u, sum(n) AS n FROM ${table} GROUP BY block`,
      )
      for (const { block, c, u } of rows) {
        if (String(c) !== String(u)) this.faults.push(`${table} has ${c} rows of ${u} ids of block ${block}`)
      }
      counts.set(table, new Map(rows.map(({ block, c, n }) => [Number(block), `${c} rows of ${n}`])))
      if (table === 'stream') this.rows = rows.reduce((total, { c }) => total + Number(c), 0)
    }
    this.imports.cut = 0
    for (let block = 1; block <= this.#blocks; block += 1) {
      const [first, ...others] = tables.map((table) => counts.get(table)?.get(block) ?? 'none')
      if (this.#cut.has(block) && first !== 'none') this.imports.cut += 1
      if (this.#acknowledged.has(block) && first?.startsWith(`${blockRows} rows`) !== true) {
        this.faults.push(`block ${block}: stream has ${first}`)
      }
      if (others.some((other) => other !== first)) {
        this.faults.push(`block ${block}: ${tables.join()} have ${[first, ...others].join()}`)
      }
    }
  }

  async #behind(): Promise<readonly ShownBehind[]> {
    // The answer's shape is what other tests check.
    const { views_behind: shown = [] } = (await this.#service.call('GET', '/v0/datasources/stream')) as {
      readonly views_behind?: readonly ShownBehind[]
    }
    return shown
  }

  async #mend(): Promise<void> {
    await this.#service.call('POST', '/v0/events?name=mended&wait=true', '{"n":1}')
  }

  async #sendUntilCut(): Promise<void> {
    const senders = this.#hasImports ? 3 : 1
    await Promise.all(Array.from({ length: senders }, (_, sender) => this.#sendBlocks(sender > 0)))
  }

  async #sendBlocks(areImports: boolean): Promise<void> {
    for (let count = 0; this.#isSending && count < blocksPerRoundMax; count += 1) {
      this.#blocks += 1
      const block = this.#blocks
      const isUnlucky = this.#random.below(8) === 0
      const rows = Array.from({ length: blockRows }, (_, n) => {
        return { block, id: block * blockRows + n, n: isUnlucky ? unlucky : n % unlucky }
      })
      try {
        if (areImports) await this.#import(rows)
        else
          await this.#service.call('POST', '/v0/events?name=stream', rows.map((row) => JSON.stringify(row)).join('\n'))
        this.#acknowledged.add(block)
        await delay(this.#random.below(12))
      } catch {
        // The service was killed, or its engine: what was not acknowledged may be there or not.
        if (areImports) this.#cut.add(block)
        await delay(20)
      }
    }
  }

  /** Behind the answer that a view failed, the rows are stored as well. */
  async #import(rows: readonly { readonly block: number; readonly id: number; readonly n: number }[]): Promise<void> {
    const isCsv = this.#random.below(2) === 0
    const body = isCsv
      ? rows.map(({ block, id, n }) => `${block},${id},${n}`).join('\n')
      : rows.map((row) => JSON.stringify(row)).join('\n')
    const path = `/v0/datasources?mode=append&name=stream&format=${isCsv ? 'csv' : 'ndjson'}`
    try {
      await this.#service.call('POST', path, body)
    } catch (thrown) {
      if (!String(thrown).includes('the counted rows are stored')) throw thrown
      this.imports.refused += 1
    }
    this.imports.answered += 1
  }

  async #link(pipe: string, sql: string, more: string): Promise<void> {
    await this.#service.call('POST', '/v0/pipes', JSON.stringify({ name: pipe, nodes: [{ name: 'n', sql }] }))
    const path = `/v0/pipes/${pipe}/nodes/n/materialization?datasource=${pipe}_rows${more}`
    await this.#service.call('POST', path)
  }

  async #select(sql: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const { data } = (await this.#service.call('POST', '/v0/sql', `${sql} FORMAT JSON`)) as {
      readonly data: readonly Readonly<Record<string, unknown>>[]
    }
    return data
  }
}

function catchUpPathOf(pipe: string): string {
  return `/v0/pipes/${pipe}/nodes/n/catch_up`
}
