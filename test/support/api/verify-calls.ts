import { setTimeout as delay } from 'node:timers/promises'
import type { Answer } from './test-service.ts'
import { ViewCalls } from './view-calls.ts'

export interface VerifyAnswer {
  readonly comparable: boolean
  readonly reason: string | null
  readonly equal: boolean | null
  readonly partitions_total: number
  readonly partitions_differing: number
  readonly partitions: readonly VerifiedShape[]
  readonly columns_not_compared: readonly { readonly column: string; readonly reason: string }[]
}

export interface VerifiedShape {
  readonly partition: string
  readonly comparable: boolean
  readonly reason: string | null
  readonly equal: boolean
  readonly rows_expected: number
  readonly rows_found: number
  readonly rows_missing: number
  readonly rows_extra: number
  readonly rows_different: number
  readonly samples: readonly string[]
}

export interface JobShape {
  readonly id: string
  readonly status: string
  readonly kind: string
  readonly error?: string
  readonly errors?: readonly string[]
  readonly partitions_repaired?: number
  readonly [field: string]: unknown
}

/** What tests of comparisons and repairs ask of a service. Views are those of `ViewCalls`. */
export class VerifyCalls extends ViewCalls {
  /** The source, partitioned by month and sorted by day unless an engine is given. */
  async source(name: string, schema: string, engine: Readonly<Record<string, string>> = {}): Promise<void> {
    const given = { engine: 'MergeTree', engine_sorting_key: 'day', engine_partition_key: 'toYYYYMM(day)', ...engine }
    const { status, text } = await this.service.call(
      'POST',
      `/v0/datasources?${new URLSearchParams({ name, schema, ...given })}`,
    )
    if (status !== 200) throw new Error(`answered ${status}: ${text}`)
  }

  tryVerify(pipe: string, token?: string): Promise<Answer> {
    return this.service.call('GET', pathOf(pipe, 'verify'), token === undefined ? {} : { token })
  }

  async verify(pipe: string): Promise<VerifyAnswer> {
    const { status, text, json } = await this.tryVerify(pipe)
    if (status !== 200) throw new Error(`answered ${status}: ${text}`)
    // The shape of an answer is what its tests check.
    return json as VerifyAnswer
  }

  tryRepair(pipe: string, parameters: Readonly<Record<string, string>> = {}, token?: string): Promise<Answer> {
    const path = `${pathOf(pipe, 'repair')}?${new URLSearchParams(parameters)}`
    return this.service.call('POST', path, token === undefined ? {} : { token })
  }

  /** The value of a new token with these scopes. */
  async token(name: string, ...scopes: readonly string[]): Promise<string> {
    const body = new URLSearchParams({ name })
    for (const scope of scopes) body.append('scope', scope)
    const { status, text, json } = await this.service.call('POST', '/v0/tokens', { body: body.toString() })
    if (status !== 200) throw new Error(`answered ${status}: ${text}`)
    // As above.
    return (json as { readonly token: string }).token
  }

  /** The job of a repair once it has ended. */
  async repair(pipe: string, parameters: Readonly<Record<string, string>> = {}): Promise<JobShape> {
    const { status, text, json } = await this.tryRepair(pipe, parameters)
    if (status !== 200) throw new Error(`answered ${status}: ${text}`)
    // As above.
    return await this.ended((json as { readonly job: { readonly id: string } }).job.id)
  }

  async ended(id: string): Promise<JobShape> {
    for (;;) {
      const { json } = await this.service.call('GET', `/v0/jobs/${id}`)
      // As above.
      const job = json as JobShape
      if (['done', 'error', 'cancelled'].includes(job.status)) return job
      await delay(20)
    }
  }
}

function pathOf(pipe: string, what: string): string {
  return `/v0/pipes/${pipe}/nodes/${pipe}_view/${what}`
}
