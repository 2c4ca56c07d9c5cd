import type { Answer, TestService } from './test-service.ts'
import { ViewCalls } from './view-calls.ts'

export interface ShownBehind {
  readonly view: string | null
  readonly select?: number
  readonly state: string
  readonly takes_new_rows: boolean
  readonly blocks?: number
  readonly remedy?: string
}

const parked = 'A Materialized View does not take a block: it is parked, and the others go on.'

/**
 * Views that fail at rows whose `n` is 13 or more, as long as nothing is in the data source `<switch>`. Each is made in a pipe of its own and
 * fills `<pipe>_rows`.
 */
export class ParkedViews {
  readonly service: TestService
  readonly views: ViewCalls
  readonly #switch: string

  constructor(service: TestService, switchName: string) {
    this.service = service
    this.views = new ViewCalls(service)
    this.#switch = switchName
  }

  /** Makes data sources with the columns `id` and `n`. */
  async createSources(...names: readonly string[]): Promise<this> {
    for (const name of names) await this.service.create(name, 'id UInt32, n UInt32')
    await this.service.create(this.#switch, 'n UInt32')
    return this
  }

  /** What stands for `n` in a SELECT that fails. */
  get failing(): string {
    return `n + throwIf(n >= 13 AND (SELECT count() FROM ${this.#switch}) = 0, 'unlucky') AS n`
  }

  /** One that fails, of a data source. */
  async fillFailing(pipe: string, source: string, target: Readonly<Record<string, string>> = {}): Promise<void> {
    await this.views.fill(pipe, `SELECT id, ${this.failing} FROM ${source}`, { datasource: `${pipe}_rows`, ...target })
  }

  send(name: string, ids: readonly number[], n = 1): Promise<Answer> {
    return this.service.events(name, ids.map((id) => JSON.stringify({ id, n })).join('\n'), { wait: 'true' })
  }

  /** Sends a row that the view of a pipe does not take, and waits until that is out of the way. */
  async park(pipe: string, source: string, id: number): Promise<void> {
    const { service } = this
    await service.events(source, JSON.stringify({ id, n: 13 }))
    await service.log.until(parked, ({ node }) => node === `${pipe}.${pipe}_view`)
    await service.untilStored(source)
  }

  async mend(): Promise<void> {
    await this.service.events(this.#switch, '{"n":1}', { wait: 'true' })
  }

  async unmend(): Promise<void> {
    await this.service.call('POST', `/v0/datasources/${this.#switch}/truncate`)
  }

  node(pipe: string, path: string, method: 'DELETE' | 'GET' | 'POST' | 'PUT' = 'POST', call = {}): Promise<Answer> {
    return this.service.call(method, `/v0/pipes/${pipe}/nodes/${pipe}_view${path}`, call)
  }

  catchUp(pipe: string): Promise<Answer> {
    return this.node(pipe, '/catch_up')
  }

  /** What a data source tells of views that lack blocks of it. */
  async behind(name: string): Promise<readonly ShownBehind[]> {
    return (await this.#shown(name)).views_behind ?? []
  }

  /** What a data source tells of views whose rows it lacks. */
  async lacking(name: string): Promise<readonly ShownBehind[]> {
    return (await this.#shown(name)).lacks_rows_of ?? []
  }

  /** How many rows a table has, and how many ids. */
  async counts(table: string): Promise<readonly number[]> {
    const [counts = []] = await this.service.rows(`SELECT count(), uniqExact(id) FROM ${table}`)
    return counts.map(Number)
  }

  async #shown(name: string) {
    const { json } = await this.service.call('GET', `/v0/datasources/${name}`)
    // The shape is what tests check.
    return json as { readonly views_behind?: readonly ShownBehind[]; readonly lacks_rows_of?: readonly ShownBehind[] }
  }
}
