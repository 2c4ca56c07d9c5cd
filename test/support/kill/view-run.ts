/**
 * Makes and drops materialized views while events come, again and again, each time with a kill at some moment of it.
 *
 * After each kill a view is there for the catalog and the engine or for neither, each block of events is in a target wholly or not
 * at all, and one that comes then is in the targets of the views that are there, and in no other.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { isViewId } from '../../../src/catalog/pipe-id.ts'
import { openEmbeddedStore } from '../../../src/store/embedded/embedded-store.ts'
import { freePort } from '../free-port.ts'
import { SeededRandom } from '../seeded-random.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from '../store/test-store.ts'
import { KillService, type ServiceWords, victims } from './kill-service.ts'

export interface ViewRunOptions {
  readonly rounds: number
  readonly seed: number
}

export interface ViewRunReport {
  readonly kills: number
  /** Views that a kill came before, and those that it did not undo. */
  readonly undone: number
  readonly done: number
  readonly dropped: number
  readonly edited: number
  readonly switched: number
  readonly blocks: number
  readonly words: ServiceWords
  /** What is not as it must be; empty when all is. */
  readonly faults: readonly string[]
}

const blockRows = 200
const killAfterMsMax = 1_200

export async function runViews({ rounds, seed }: ViewRunOptions): Promise<ViewRunReport> {
  const directory = await createTestDirectory()
  const service = new KillService(directory.path, await freePort())
  const run = new ViewRun(service, new SeededRandom(seed))
  try {
    await service.start()
    await service.call('POST', '/v0/datasources?name=stream&schema=block+UInt32,n+UInt32')
    for (const form of forms.keys()) await run.link(form)
    for (let round = 0; round < rounds; round += 1) await run.round(round)
    await service.end('SIGTERM')
    const store = await openEmbeddedStore(testStoreOptions(directory.path), silentLogger)
    const names = (await store.views.names()).filter(isViewId)
    await store.close()
    if (names.length !== run.viewCount) run.faults.push(`${names.length} views of the engine, not ${run.viewCount}`)
    const { kills, undone, done, dropped, edited, switched, blocks, faults } = run
    return { kills, undone, done, dropped, edited, switched, blocks, faults, words: service.words }
  } finally {
    await service.end('SIGKILL')
    await directory.remove()
  }
}

class ViewRun {
  kills = 0
  undone = 0
  done = 0
  dropped = 0
  /** Edits that were begun. */
  edited = 0
  /** Those of them that a kill did not undo. */
  switched = 0
  blocks = 0
  readonly faults: string[] = []
  /** Pipes whose views are there. */
  readonly linked = new Set<string>()
  readonly #service: KillService
  readonly #random: SeededRandom
  #asked: { readonly path: string; readonly sql: string } | null = null
  /** Which of `forms` a pipe has. */
  readonly #forms = new Map<string, number>()
  /** Blocks that were acknowledged; others may be there all the same. */
  readonly #acknowledged = new Set<number>()

  constructor(service: KillService, random: SeededRandom) {
    this.#service = service
    this.#random = random
  }

  /** A node that is there from the beginning. */
  async link(form: number): Promise<void> {
    const pipe = `first_${form}`
    this.#forms.set(pipe, form)
    const nodes = [{ name: 'n', sql: sqlOf(form, 0) }]
    await this.#service.call('POST', '/v0/pipes', JSON.stringify({ name: pipe, nodes }))
    await this.#service.call('POST', pathOf(pipe))
    this.linked.add(pipe)
  }

  async round(round: number): Promise<void> {
    const pipe = `p${round}`
    const form = this.#random.below(forms.length)
    this.#forms.set(pipe, form)
    const nodes = [{ name: 'n', sql: sqlOf(form, 0) }]
    await this.#service.call('POST', '/v0/pipes', JSON.stringify({ name: pipe, nodes }))
    const old = [...this.linked][this.#random.below(Math.max(1, this.linked.size))]
    const isDrop = old !== undefined && this.#random.below(3) === 0
    const isEdit = !isDrop && old !== undefined && this.#random.below(2) === 0
    const sending = this.#sendUntilCut()
    const changing = isDrop
      ? this.#try('DELETE', `/v0/pipes/${old}`)
      : isEdit
        ? this.#edit(old, round)
        : this.#try('POST', pathOf(pipe))
    // An edit waits for what is on its way before it changes anything.
    await delay(this.#random.below(isEdit ? 3 * killAfterMsMax : killAfterMsMax))
    await this.#service.kill(victims[this.#random.below(victims.length)] ?? 'both')
    this.kills += 1
    await Promise.all([sending, changing])
    await this.#service.untilStored('stream')
    await this.#note(pipe)
    if (isDrop && old !== undefined) await this.#note(old)
    await this.#noteEdit()
    await this.#check()
  }

  /** What the catalog says after the kill. */
  async #note(pipe: string): Promise<void> {
    const wasLinked = this.linked.delete(pipe)
    // The shapes are what other tests check.
    const { pipes } = (await this.#service.call('GET', '/v0/pipes')) as {
      readonly pipes: readonly { readonly name: string; readonly type: string }[]
    }
    const isLinked = pipes.some(({ name, type }) => name === pipe && type === 'materialized')
    if (isLinked) this.linked.add(pipe)
    if (wasLinked && !isLinked) this.dropped += 1
    else if (!wasLinked && isLinked) this.done += 1
    else if (!wasLinked) this.undone += 1
  }

  async #check(): Promise<void> {
    const before = await this.#countsOfTargets()
    await this.#send(true)
    const after = await this.#countsOfTargets()
    for (const [target, count] of after) {
      const expected = (before.get(target) ?? 0) + (this.linked.has(target.replace('t_', '')) ? blockRows : 0)
      if (count !== expected) this.faults.push(`${target} has ${count} rows, not ${expected}`)
      const broken = await this.#rows(
        `SELECT block, sum(c) AS s FROM ${target} GROUP BY block HAVING s != ${blockRows} LIMIT 3`,
      )
      if (broken.length > 0) this.faults.push(`blocks of ${target}: ${JSON.stringify(broken)}`)
    }
    const stored = new Map((await this.#rows('SELECT block, count() AS c FROM stream GROUP BY block')).map(pairOf))
    for (const block of this.#acknowledged) {
      if (stored.get(block) !== blockRows) this.faults.push(`block ${block} has ${stored.get(block)} rows`)
    }
  }

  async #countsOfTargets(): Promise<ReadonlyMap<string, number>> {
    const { datasources } = (await this.#service.call('GET', '/v0/datasources')) as {
      readonly datasources: readonly { readonly name: string }[]
    }
    const targets = datasources.map(({ name }) => name).filter((name) => name.startsWith('t_'))
    const counts = new Map<string, number>()
    for (const target of targets) {
      const [row] = await this.#rows(`SELECT 0 AS block, sum(c) AS c FROM ${target}`)
      counts.set(target, Number(row?.['c'] ?? 0))
    }
    return counts
  }

  async #rows(sql: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const { data } = (await this.#service.call('POST', '/v0/sql', `${sql} FORMAT JSON`)) as {
      readonly data: readonly Readonly<Record<string, unknown>>[]
    }
    return data
  }

  async #sendUntilCut(): Promise<void> {
    for (let count = 0; count < 200; count += 1) {
      try {
        await this.#send(false)
      } catch {
        // The service was killed, or its engine: what was not acknowledged may be there or not.
        return
      }
    }
  }

  async #send(isWaiting: boolean): Promise<void> {
    this.blocks += 1
    const block = this.blocks
    const rows = Array.from({ length: blockRows }, (_, n) => JSON.stringify({ block, n }))
    await this.#service.call('POST', `/v0/events?name=stream${isWaiting ? '&wait=true' : ''}`, rows.join('\n'))
    this.#acknowledged.add(block)
  }

  async #try(method: string, path: string, body?: string): Promise<void> {
    try {
      await this.#service.call(method, path, body)
    } catch {
      // Cut off by the kill; the catalog tells afterwards what became of it.
    }
  }

  /** The old view or the new one, and never both, gives as many rows. */
  async #edit(pipe: string, round: number): Promise<void> {
    const form = this.#forms.get(pipe) ?? 0
    const path = `/v0/pipes/${pipe}/nodes/n`
    // No other one has the same, so it tells which of the two is there.
    const sql = sqlOf(form, round + 1)
    this.edited += 1
    await this.#try('PUT', path, sql)
    this.#asked = { path, sql }
  }

  /** Whether the edit that a kill came into was made all the same. */
  async #noteEdit(): Promise<void> {
    const asked = this.#asked
    this.#asked = null
    if (asked === null) return
    // The shape is what other tests check.
    const { sql } = (await this.#service.call('GET', asked.path)) as { readonly sql: string }
    if (sql === asked.sql) this.switched += 1
  }

  /** How many views the engine has of the nodes. */
  get viewCount(): number {
    const counts = [...this.linked].map((pipe) => forms[this.#forms.get(pipe) ?? 0]?.length ?? 0)
    return counts.reduce((sum, count) => sum + count, 0)
  }
}

/** The SELECTs of a node, each of which the engine has a view of; `%` is true for every row. */
const forms: readonly (readonly string[])[] = [
  ['SELECT block, sumSimpleState(toUInt64(1)) AS c FROM stream WHERE % GROUP BY block'],
  ['SELECT block, toUInt64(1) AS c FROM stream WHERE %'],
  [
    'SELECT block, toUInt64(1) AS c FROM stream WHERE % AND n % 2 = 0',
    'SELECT block, toUInt64(1) AS c FROM stream WHERE % AND n % 2 = 1',
  ],
]

function sqlOf(form: number, round: number): string {
  return (forms[form] ?? []).join(' UNION ALL ').replaceAll('WHERE %', `WHERE ${round} = ${round}`)
}

function pathOf(pipe: string): string {
  return `/v0/pipes/${pipe}/nodes/n/materialization?datasource=t_${pipe}`
}

function pairOf(row: Readonly<Record<string, unknown>>): readonly [number, number] {
  return [Number(row['block']), Number(row['c'])]
}
