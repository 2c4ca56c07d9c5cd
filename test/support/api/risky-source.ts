// A data source with a view that does not take every row, and one that does.

import type { Answer, TestService } from './test-service.ts'
import { ViewCalls } from './view-calls.ts'

/** A view that is behind, as its data source shows it. */
export interface ShownBehind {
  readonly view: string | null
  readonly state: string
  readonly takes_new_rows: boolean
  readonly blocks: number
  readonly bytes: number
  readonly error: string
}

/** What the log says of a view that is parked. */
export const parked = 'A Materialized View does not take a block: it is parked, and the others go on.'

/**
 * A data source with two views: `<name>_sound` takes all, `<name>_risky` fails at 13 and above while nothing is in `<name>_mended`. What they
 * fill has the name of the view with `_rows` behind it.
 */
export class RiskySource {
  readonly name: string
  readonly service: TestService
  readonly views: ViewCalls

  constructor(service: TestService, name: string) {
    this.service = service
    this.name = name
    this.views = new ViewCalls(service)
  }

  /** `engine` is that of the data source itself. */
  async create(engine: Readonly<Record<string, string>> = {}): Promise<this> {
    const { name, service, views } = this
    await service.create(name, 'id UInt32, n UInt32', engine)
    await service.create(`${name}_mended`, 'n UInt32')
    await views.fill(`${name}_sound`, `SELECT id, n FROM ${name}`, { datasource: `${name}_sound_rows` })
    await this.addRisky(`${name}_risky`)
    return this
  }

  async addRisky(pipe: string): Promise<void> {
    const { name, views } = this
    const fails = `n >= 13 AND (SELECT count() FROM ${name}_mended) = 0`
    const sql = `SELECT id, n + throwIf(${fails}, 'unlucky') AS n FROM ${name}`
    await views.fill(pipe, sql, { datasource: `${pipe}_rows` })
  }

  send(ids: readonly number[], n = 1, call = {}): Promise<Answer> {
    return this.service.events(this.name, ids.map((id) => JSON.stringify({ id, n })).join('\n'), { wait: 'true' }, call)
  }

  /** Sends a row that the view does not take, and waits until that is behind it. */
  async park(id: number): Promise<void> {
    await this.service.events(this.name, JSON.stringify({ id, n: 13 }))
    await this.service.log.until(parked, ({ node }) => node === `${this.name}_risky.${this.name}_risky_view`)
    await this.service.untilStored(this.name)
  }

  async mend(): Promise<void> {
    await this.service.events(`${this.name}_mended`, '{"n":1}', { wait: 'true' })
  }

  catchUp(pipe = `${this.name}_risky`, call = {}): Promise<Answer> {
    return this.service.call('POST', `/v0/pipes/${pipe}/nodes/${pipe}_view/catch_up`, call)
  }

  async behind(of = this.name): Promise<readonly ShownBehind[]> {
    const { json } = await this.service.call('GET', `/v0/datasources/${of}`)
    // The shape is what this test checks.
    return (json as { readonly views_behind?: readonly ShownBehind[] }).views_behind ?? []
  }

  /** The tables among the three that have not each of so many ids once. */
  async faults(idCount: number): Promise<readonly unknown[]> {
    const faults: unknown[] = []
    for (const table of [this.name, `${this.name}_sound_rows`, `${this.name}_risky_rows`]) {
      const [counts] = await this.service.rows(`SELECT count(), uniqExact(id) FROM ${table}`)
      if (counts?.some((count) => Number(count) !== idCount)) faults.push([table, counts])
    }
    return faults
  }
}
