/**
 * Kills in the middle of two changes of what a node fills, while events come: a data source that is made anew for a node
 * (`override_datasource`), and a view that is linked again behind a populate that failed (`relink`), with a populate of all or without.
 *
 * After each kill the data source is the old one, without a view, or the new one with it; a node is linked or not. What is not done is asked
 * for again. Then every block of events that comes is in the target once, and behind a populate with `truncate` so are all that came before.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { isViewId } from '../../../src/catalog/pipe-id.ts'
import { openEmbeddedStore } from '../../../src/store/embedded/embedded-store.ts'
import { freePort } from '../free-port.ts'
import { SeededRandom } from '../seeded-random.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from '../store/test-store.ts'
import { KillService, type ServiceWords, victims } from './kill-service.ts'

export interface TargetRunReport {
  readonly kills: number
  /** By what was asked for: how often a kill undid it, and how often it was done all the same. */
  readonly outcomes: Readonly<Record<Change, { readonly undone: number; readonly done: number }>>
  readonly blocks: number
  readonly words: ServiceWords
  /** What is not as it must be; empty when all is. */
  readonly faults: readonly string[]
}

const changes = ['override', 'relink', 'relink and populate'] as const
type Change = (typeof changes)[number]

const blockRows = 50
const killAfterMsMax = 500

export async function runTargets(options: {
  readonly rounds: number
  readonly seed: number
}): Promise<TargetRunReport> {
  const directory = await createTestDirectory()
  const service = new KillService(directory.path, await freePort())
  const run = new TargetRun(service, new SeededRandom(options.seed))
  try {
    await service.start()
    for (let round = 0; round < options.rounds; round += 1) await run.round(round)
    await service.end('SIGTERM')
    const store = await openEmbeddedStore(testStoreOptions(directory.path), silentLogger)
    const left = (await store.views.names()).filter(isViewId)
    await store.close()
    if (left.length > 0) run.faults.push(`${left.length} views of the engine are left`)
    const { kills, outcomes, blocks, faults } = run
    // That the first populate fails is what is wanted.
    const errors = service.words.errors.filter((line) => !line.includes('unlucky'))
    return { kills, outcomes, blocks, faults, words: { ...service.words, errors } }
  } finally {
    await service.end('SIGKILL')
    await directory.remove()
  }
}

interface ShownNode {
  readonly materialized: true | null
  readonly unlinked_at?: string
}

class TargetRun {
  kills = 0
  blocks = 0
  readonly outcomes: Record<Change, { undone: number; done: number }> = {
    override: { undone: 0, done: 0 },
    relink: { undone: 0, done: 0 },
    'relink and populate': { undone: 0, done: 0 },
  }
  readonly faults: string[] = []
  readonly #service: KillService
  readonly #random: SeededRandom

  constructor(service: KillService, random: SeededRandom) {
    this.#service = service
    this.#random = random
  }

  async round(round: number): Promise<void> {
    const change = changes[round % changes.length] ?? 'override'
    const [source, target, pipe] = [`source_${round}`, `target_${round}`, `pipe_${round}`]
    await this.#call('POST', `/v0/datasources?name=${source}&schema=block+UInt32,n+UInt32`)
    await this.#call('POST', `/v0/datasources?name=${source}_mended&schema=n+UInt32`)
    await this.#send(source, { n: 7 })
    const node = `/v0/pipes/${pipe}/nodes/n`
    const asked =
      change === 'override'
        ? `${node}/materialization?datasource=${target}&override_datasource=true`
        : `${node}/relink${change === 'relink' ? '' : '?populate=true&truncate=true'}`
    if (change === 'override') await this.#prepareOverride({ source, target, pipe })
    else await this.#prepareRelink({ source, target, pipe })

    const acknowledged = new Set<number>()
    let isOver = false
    const sending = (async () => {
      while (!isOver) {
        const block = await this.#trySend(source)
        if (block !== null) acknowledged.add(block)
        await delay(this.#random.below(10))
      }
    })()
    const asking = this.#service.call('POST', asked, '').catch(() => null)
    await delay(this.#random.below(killAfterMsMax))
    await this.#service.kill(victims[this.#random.below(victims.length)] ?? 'both')
    this.kills += 1
    await asking
    const isDone = await this.#isLinked(node)
    this.outcomes[change][isDone ? 'done' : 'undone'] += 1
    if (change === 'override') await this.#checkTarget(target, isDone)
    if (!isDone) await this.#call('POST', asked, '')
    if (change === 'relink and populate') await this.#untilPopulated(round)
    // From here on the view is there, whatever was before.
    const later = new Set<number>()
    for (let count = 0; count < 3; count += 1) later.add(await this.#send(source))
    isOver = true
    await sending
    await this.#untilStored(source)
    await this.#checkRows(target, change === 'relink and populate' ? new Set([...acknowledged, ...later]) : later)
    await this.#call('DELETE', `/v0/pipes/${pipe}?force=true`)
    for (const name of [source, `${source}_mended`, target])
      await this.#call('DELETE', `/v0/datasources/${name}?force=true`)
  }

  async #prepareOverride({ source, target, pipe }: Named): Promise<void> {
    await this.#call('POST', `/v0/datasources?name=${target}&schema=old+String`)
    await this.#createPipe(pipe, `SELECT block, n FROM ${source}`)
  }

  /** A populate of it fails, which unlinks it; then it would not any more. */
  async #prepareRelink({ source, target, pipe }: Named): Promise<void> {
    const fails = `n = 7 AND (SELECT count() FROM ${source}_mended) = 0`
    await this.#createPipe(pipe, `SELECT block, n + throwIf(${fails}, 'unlucky') AS n FROM ${source}`)
    const more = `datasource=${target}&populate=true&engine=MergeTree&engine_sorting_key=block`
    await this.#call('POST', `/v0/pipes/${pipe}/nodes/n/materialization?${more}`, '')
    for (;;) {
      const { unlinked_at: unlinkedAt } = await this.#nodeOf(`/v0/pipes/${pipe}/nodes/n`)
      if (unlinkedAt !== undefined) break
      await delay(20)
    }
    await this.#call('POST', `/v0/events?name=${source}_mended&wait=true`, '{"n":1}')
  }

  async #createPipe(pipe: string, sql: string): Promise<void> {
    await this.#call('POST', '/v0/pipes', JSON.stringify({ name: pipe, nodes: [{ name: 'n', sql }] }))
  }

  async #isLinked(node: string): Promise<boolean> {
    return (await this.#nodeOf(node)).materialized === true
  }

  async #nodeOf(path: string): Promise<ShownNode> {
    // The answer's shape is what other tests check.
    return (await this.#call('GET', path)) as ShownNode
  }

  /** The old one or the new one, as its node says, and it takes what it is for. */
  async #checkTarget(target: string, isNew: boolean): Promise<void> {
    const { schema } = (await this.#call('GET', `/v0/datasources/${target}`)) as {
      readonly schema: { readonly columns: readonly { readonly name: string }[] }
    }
    const names = schema.columns.map(({ name }) => name).join()
    if (names !== (isNew ? 'block,n' : 'old'))
      this.faults.push(`${target} has ${names}, and its view is ${isNew ? '' : 'not '}there`)
    // What the engine has is what the catalog says.
    await this.#select(`SELECT ${names} FROM ${target} LIMIT 1`)
  }

  async #checkRows(target: string, whole: ReadonlySet<number>): Promise<void> {
    const rows = await this.#select(`SELECT block, count() AS c FROM ${target} GROUP BY block`)
    const counts = new Map(rows.map(({ block, c }) => [Number(block), Number(c)]))
    for (const block of whole) {
      if (!counts.has(block)) this.faults.push(`${target} lacks block ${block}`)
    }
    for (const [block, count] of counts) {
      if (count !== blockRows) this.faults.push(`${target} has ${count} rows of block ${block}`)
    }
  }

  async #untilPopulated(round: number): Promise<void> {
    for (;;) {
      const { jobs } = (await this.#call('GET', '/v0/jobs?kind=populate')) as {
        readonly jobs: readonly { readonly status: string; readonly error?: string; readonly pipe_name?: string }[]
      }
      const open = jobs.filter(({ status }) => ['waiting', 'working', 'cancelling'].includes(status))
      if (open.length > 0) {
        await delay(20)
        continue
      }
      const [last] = jobs
      if (last?.status !== 'done') this.faults.push(`round ${round}: the populate is ${last?.status}: ${last?.error}`)
      return
    }
  }

  async #send(source: string, { n = 1 } = {}): Promise<number> {
    this.blocks += 1
    const block = this.blocks
    await this.#call('POST', `/v0/events?name=${source}&wait=true`, bodyOf(block, n))
    return block
  }

  /** Null where it was not acknowledged. */
  async #trySend(source: string): Promise<number | null> {
    this.blocks += 1
    const block = this.blocks
    try {
      await this.#service.call('POST', `/v0/events?name=${source}`, bodyOf(block, 1))
      return block
    } catch {
      return null
    }
  }

  async #untilStored(source: string): Promise<void> {
    await this.#service.untilStored(source)
  }

  /** Again while the engine is starting. */
  async #call(method: string, path: string, body?: string): Promise<unknown> {
    for (;;) {
      try {
        return await this.#service.call(method, path, body)
      } catch (thrown) {
        if (!/answered 503|DATASOURCE_BUSY|fetch failed/.test(String(thrown))) throw thrown
        await delay(50)
      }
    }
  }

  async #select(sql: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const { data } = (await this.#call('POST', '/v0/sql', `${sql} FORMAT JSON`)) as {
      readonly data: readonly Readonly<Record<string, unknown>>[]
    }
    return data
  }
}

interface Named {
  readonly source: string
  readonly target: string
  readonly pipe: string
}

function bodyOf(block: number, n: number): string {
  return Array.from({ length: blockRows }, () => JSON.stringify({ block, n })).join('\n')
}
