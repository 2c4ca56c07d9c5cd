/**
 * Does at random to a graph of views what people, programs and accidents do, and compares it with its model: events, imports, replaces,
 * populates, truncates, deletes, alters, and kills of the service, of its engine or of both, beside some of these too.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from '../free-port.ts'
import { KillService, killToken, type ServiceWords, victims } from '../kill/kill-service.ts'
import { SeededRandom } from '../seeded-random.ts'
import { createTestDirectory } from '../store/test-store.ts'
import { RowTerms } from './row-terms.ts'
import { leaves, type ModelTable, ViewModel } from './view-model.ts'

export interface ViewModelOptions {
  readonly steps: number
  /** Levels of data sources between the first ones and the last. */
  readonly depth: number
  readonly seed: number
  /** Steps after which all is compared. */
  readonly checkEvery: number
  /** Each costs seconds. */
  readonly killsMax: number
}

export interface ViewModelReport {
  readonly views: number
  readonly kills: number
  /** How often each kind of step was done. */
  readonly done: Readonly<Record<string, number>>
  readonly compared: number
  /** What has other rows than the model; empty when nothing has. */
  readonly wrong: readonly string[]
  readonly words: ServiceWords
}

const schema = 'id UInt64, g String, n Int64'
const rowsMax = 40
/** Copies of copies would become too many, and statements over them too long. */
const rowsKeptMax = 4_000
const queriesMax = 24
const triesMax = 2_000
const passing = /answered (?:409|503).*#(?:change_blocked|datasource_busy|datasource_changing|engine_unavailable)\b/

export async function runViewModel(options: ViewModelOptions): Promise<ViewModelReport> {
  const directory = await createTestDirectory()
  const service = new KillService(directory.path, await freePort())
  const run = new ViewModelRun(service, options)
  try {
    await service.start()
    await run.build()
    for (let step = 1; step <= options.steps; step += 1) {
      await run.step()
      if (step % options.checkEvery !== 0 && step !== options.steps) continue
      if ((await run.compare(step)) > 0) break
    }
    await service.end('SIGTERM')
    const { kills, done, compared, wrong } = run
    return { views: run.model.views.length, kills, done, compared, wrong, words: service.words }
  } finally {
    await service.end('SIGKILL')
    await directory.remove()
  }
}

interface Row {
  readonly id: number
  readonly g: string
  readonly n: number
}

class ViewModelRun {
  readonly model: ViewModel
  kills = 0
  compared = 0
  readonly done: Record<string, number> = {}
  readonly wrong: string[] = []
  readonly #service: KillService
  readonly #random: SeededRandom
  readonly #killsMax: number
  /** Of the last batch of each source, and of its last column that was added. */
  readonly #batches = new Map<string, number>()
  readonly #columns = new Map<string, number>()
  #rowCount = 0
  #eventsCount = 0

  constructor(service: KillService, { seed, depth, killsMax }: ViewModelOptions) {
    this.#service = service
    this.#killsMax = killsMax
    this.#random = new SeededRandom(seed)
    this.model = new ViewModel(this.#random, depth)
  }

  async build(): Promise<void> {
    for (const { name, level, engine, leaf } of this.model.tables) {
      if (leaf !== null) continue
      await this.#create(name, this.#schemaOf(name), engine)
      if (level === 0) await this.#create(`shadow_${name}`, `${schema}, batch UInt32`, {})
    }
    for (const { pipe, target, sql } of this.model.views) {
      const { leaf } = this.model.table(target)
      const nodes = [{ name: `${pipe}_first`, sql: 'SELECT 1 AS one' }]
      await this.#service.call('POST', '/v0/pipes', JSON.stringify({ name: pipe, nodes }))
      const made = leaf === null ? {} : leaves[leaf].engine
      const parameters = new URLSearchParams({
        name: `${pipe}_view`,
        type: 'materialized',
        datasource: target,
        ...made,
      })
      await this.#service.call('POST', `/v0/pipes/${pipe}/nodes?${parameters}`, sql)
    }
  }

  async step(): Promise<void> {
    const kinds = {
      events: () => this.#sendEvents(),
      import: () => this.#import(),
      replace: () => this.#replace(),
      populate: () => this.#populate(),
      truncate: () => this.#truncate(this.#pick(this.#kept())),
      delete: () => this.#delete(),
      alter: () => this.#alter(),
      kill: () => this.#kill(),
    }
    const often: readonly (keyof typeof kinds)[] = ['events', 'events', 'events', 'import', 'populate', 'replace']
    const kind = this.#pick([...often, ...often, 'truncate', 'delete', 'alter', 'kill', 'delete'] as const)
    await kinds[kind]()
    this.done[kind] = (this.done[kind] ?? 0) + 1
  }

  /** How much is wrong so far. What has become too large is emptied. */
  async compare(step: number): Promise<number> {
    await this.#untilStored()
    for (const table of this.#kept()) {
      const { found, expected } = this.model.checkOf(table)
      const [there, asked] = [await this.#rowsOf(found), await this.#rowsOf(expected)]
      this.compared += 1
      if (there !== asked) this.wrong.push(`${table.name} after ${step} steps: ${there} instead of ${asked}`)
      const [count] = await this.#values(`SELECT count() AS c FROM ${table.name}`)
      const isLarge = Number(count?.['c']) > rowsKeptMax || this.model.contentOf(table.name).queryCount > queriesMax
      if (isLarge) await this.#truncate(table)
    }
    return this.wrong.length
  }

  /** Under a key until it is acknowledged, with a kill beside it now and then; some bodies have a row that does not fit. */
  async #sendEvents(): Promise<void> {
    const source = this.#source()
    const rows = this.#rows()
    await this.#shadow(source, rows, () => undefined)
    const bad = this.#random.below(3) === 0 ? ['{"id":"no number","g":"x","n":"none"}'] : []
    const body = [...rows.map((row) => JSON.stringify(row)), ...bad].join('\n')
    this.#eventsCount += 1
    const key = `events-${this.#eventsCount}`
    const isKilled = this.#random.below(6) === 0
    const sending = this.#sendUntilTaken(`/v0/events?name=${source.name}`, body, key)
    if (isKilled) await this.#kill()
    await sending
    this.model.insert(source.name, this.#lastBatch(source))
  }

  async #sendUntilTaken(path: string, body: string, key: string): Promise<void> {
    const headers = { authorization: `Bearer ${killToken}`, 'idempotency-key': key }
    for (;;) {
      try {
        const response = await fetch(`${this.#service.address}${path}`, { method: 'POST', headers, body })
        const text = await response.text()
        if (response.ok) return
        if (response.status !== 503) throw new RefusedError(`${path} answered ${response.status}: ${text}`)
      } catch (error) {
        if (error instanceof RefusedError) throw error
        // Killed in the middle, or not up yet: it is sent again.
      }
      await delay(20)
    }
  }

  async #import(): Promise<void> {
    const source = this.#source()
    const rows = this.#rows()
    await this.#shadow(source, rows, async () => {
      await this.#call('POST', `/v0/datasources?mode=append&name=${source.name}&format=csv`, csvOf(rows))
    })
    this.model.insert(source.name, this.#lastBatch(source))
  }

  /** Killed now and then: then its content tells whether it was carried out. */
  async #replace(): Promise<void> {
    const source = this.#source((table) => this.model.keepsRows(table))
    const rows = this.#rows()
    const isKilled = this.#random.below(4) === 0
    await this.#shadow(source, rows, async () => {
      const path = `/v0/datasources?mode=replace&name=${source.name}&format=csv`
      const replacing = this.#call('POST', path, csvOf(rows))
      if (!isKilled) return await replacing
      const cut = replacing.catch(() => null)
      await delay(this.#random.below(150))
      await this.#kill()
      return await cut
    })
    const [found] = await this.#values(`SELECT count() AS c FROM ${source.name} WHERE id = ${rows[0]?.id ?? 0}`)
    if (Number(found?.['c']) > 0) this.model.replace(source.name, this.#lastBatch(source))
    else if (!isKilled) this.wrong.push(`a replace of ${source.name} was not carried out`)
  }

  async #populate(): Promise<void> {
    const views = this.model.views.filter(({ source }) => this.model.keepsRows(this.model.table(source)))
    const view = this.#pick(views)
    const target = this.model.table(view.target)
    const truncates = this.model.isAlone(view) && this.model.keepsRows(target) && this.#random.below(2) === 0
    const condition = this.#random.below(3) === 0 ? "g != 'g2'" : null
    const parameters = new URLSearchParams({
      ...(truncates ? { truncate: 'true' } : {}),
      ...(condition === null ? {} : { populate_condition: condition }),
    })
    const path = `/v0/pipes/${view.pipe}/nodes/${view.pipe}_view/population?${parameters}`
    const { job } = (await this.#call('POST', path)) as { readonly job: { readonly id: string } }
    if (this.#random.below(3) === 0) {
      await delay(this.#random.below(200))
      await this.#kill()
    }
    const status = await this.#endOf(job.id)
    if (status === 'done') this.model.populate(view, { truncates, condition })
    else this.wrong.push(`a populate of ${view.target} ended as ${status}`)
  }

  async #truncate({ name, level }: ModelTable): Promise<void> {
    if (level > 0) await this.#untilStored()
    await this.#call('POST', `/v0/datasources/${name}/truncate`)
    this.model.truncate(name)
  }

  async #delete(): Promise<void> {
    const table = this.#pick(this.#kept())
    if (table.level > 0) await this.#untilStored()
    // Those at an end have groups alone that can be told from outside.
    const condition =
      table.leaf === null && this.#random.below(2) === 0 ? 'n % 5 = 2' : `g = 'g${this.#random.below(5)}'`
    const body = new URLSearchParams({ delete_condition: condition }).toString()
    const { id } = (await this.#call('POST', `/v0/datasources/${table.name}/delete`, body)) as {
      readonly id: string
    }
    const status = await this.#endOf(id)
    if (status === 'done') this.model.delete(table.name, condition)
    else this.wrong.push(`a delete of ${table.name} ended as ${status}`)
  }

  async #alter(): Promise<void> {
    const { name } = this.#source((table) => this.model.keepsRows(table))
    this.#columns.set(name, (this.#columns.get(name) ?? 0) + 1)
    const body = new URLSearchParams({ schema: this.#schemaOf(name) }).toString()
    await this.#call('POST', `/v0/datasources/${name}/alter`, body)
  }

  async #kill(): Promise<void> {
    if (this.kills >= this.#killsMax) return
    await this.#service.kill(this.#pick(victims))
    this.kills += 1
    for (;;) {
      const ready = await fetch(`${this.#service.address}/health/ready`).catch(() => null)
      if (ready?.ok === true) return
      await delay(20)
    }
  }

  /** Does something with rows that are a batch of their source from then on. */
  async #shadow(source: ModelTable, rows: readonly Row[], send: () => unknown): Promise<void> {
    const batch = (this.#batches.get(source.name) ?? 0) + 1
    this.#batches.set(source.name, batch)
    const lines = rows.map(({ id, g, n }) => `${id},${g},${n},${batch}\n`).join('')
    const path = `/v0/datasources?mode=append&name=shadow_${source.name}&format=csv`
    await this.#call('POST', path, `id,g,n,batch\n${lines}`)
    await send()
  }

  /** A change of a data source that views fill is about what they have brought until then, and not about what waits before them. */
  async #untilStored(): Promise<void> {
    for (const { name, level } of this.model.tables) if (level === 0) await this.#service.untilStored(name)
  }

  #lastBatch({ name }: ModelTable): RowTerms {
    return RowTerms.of(`shadow_${name}`, this.#batches.get(name) ?? 0)
  }

  async #endOf(id: string): Promise<string> {
    for (;;) {
      const { status } = (await this.#call('GET', `/v0/jobs/${id}`)) as { readonly status: string }
      if (!['cancelling', 'waiting', 'working'].includes(status)) return status
      await delay(20)
    }
  }

  #rows(): readonly Row[] {
    return Array.from({ length: 1 + this.#random.below(rowsMax) }, () => {
      this.#rowCount += 1
      return {
        id: this.#rowCount,
        g: `g${this.#random.below(5)}`,
        n: 1 + this.#random.below(50) - (this.#rowCount % 2) * 51,
      }
    })
  }

  #source(isFit: (table: ModelTable) => boolean = () => true): ModelTable {
    return this.#pick(this.model.tables.filter((table) => table.level === 0 && isFit(table)))
  }

  #kept(): readonly ModelTable[] {
    return this.model.tables.filter((table) => this.model.keepsRows(table))
  }

  #schemaOf(name: string): string {
    const sign = this.model.table(name).engine['engine_sign'] === undefined ? '' : ', sign Int8 DEFAULT 1'
    const added = Array.from(
      { length: this.#columns.get(name) ?? 0 },
      (_, index) => `, x${index} UInt8 DEFAULT ${index}`,
    )
    return `${schema}${sign}${added.join('')}`
  }

  /** Again while something else is under way that ends: nothing of it was done then. */
  async #call(method: string, path: string, body?: string): Promise<unknown> {
    for (let triesLeft = triesMax; ; triesLeft -= 1) {
      try {
        return await this.#service.call(method, path, body)
      } catch (error) {
        if (triesLeft === 0 || !passing.test(String(error))) throw error
      }
      await delay(20)
    }
  }

  async #create(name: string, columns: string, engine: Readonly<Record<string, string>>): Promise<void> {
    await this.#call('POST', `/v0/datasources?${new URLSearchParams({ name, schema: columns, ...engine })}`)
  }

  async #rowsOf(sql: string): Promise<string> {
    return JSON.stringify((await this.#values(sql)).map((row) => Object.values(row).map(String)))
  }

  async #values(sql: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
    // The format is asked for.
    const { data } = (await this.#call('POST', '/v0/sql', `${sql} FORMAT JSON`)) as {
      readonly data: readonly Readonly<Record<string, unknown>>[]
    }
    return data
  }

  #pick<Item>(items: readonly Item[]): Item {
    const item = items[this.#random.below(items.length)]
    if (item === undefined) throw new Error('there is nothing to pick from')
    return item
  }
}

class RefusedError extends Error {}

function csvOf(rows: readonly Row[]): string {
  return ['id,g,n', ...rows.map(({ id, g, n }) => `${id},${g},${n}`)].join('\n')
}
