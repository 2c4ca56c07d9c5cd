import type { Answer, TestService } from './test-service.ts'

export interface ViewNodeShape {
  readonly id: string
  readonly name: string
  readonly materialized: true | null
  readonly node_type: string
  readonly datasource?: string
  readonly created_datasource?: boolean
  readonly warnings?: readonly { readonly text: string }[]
}

/** What tests of materialized views ask of a service. */
export class ViewCalls {
  readonly service: TestService

  constructor(service: TestService) {
    this.service = service
  }

  /** A node that fills a data source, in a pipe of its own, which is made without nodes that matter. */
  async fill(pipe: string, sql: string, target: Readonly<Record<string, string>>): Promise<ViewNodeShape> {
    return viewNodeIn(await this.tryFill(pipe, sql, target))
  }

  async tryFill(pipe: string, sql: string, target: Readonly<Record<string, string>>): Promise<Answer> {
    const { service } = this
    const shown = await service.call('GET', `/v0/pipes/${pipe}`)
    if (shown.status === 404) {
      const nodes = [{ name: `${pipe}_first`, sql: 'SELECT 1 AS one' }]
      await service.call('POST', '/v0/pipes', { body: JSON.stringify({ name: pipe, nodes }) })
    }
    const parameters = new URLSearchParams({ name: `${pipe}_view`, type: 'materialized', ...target })
    return await service.call('POST', `/v0/pipes/${pipe}/nodes?${parameters}`, { body: sql })
  }

  /** Rows as NDJSON, which are stored when this resolves. */
  async send(name: string, rows: readonly object[]): Promise<void> {
    const body = rows.map((row) => JSON.stringify(row)).join('\n')
    const { status, text } = await this.service.events(name, body, { wait: 'true' })
    if (status !== 200) throw new Error(`events answered ${status}: ${text}`)
  }
}

export function viewNodeIn({ status, text, json }: Answer): ViewNodeShape {
  if (status !== 200) throw new Error(`answered ${status}: ${text}`)
  // The shape of an answer is what its tests check.
  return json as ViewNodeShape
}
