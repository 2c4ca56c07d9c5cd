import type { Test } from 'tap'
import type { Options } from '../../../src/config.ts'
import { type Answer, openTestService, type TestService } from './test-service.ts'

export interface NodeShape {
  readonly id: string
  readonly name: string
  readonly sql: string
  readonly dependencies: readonly string[]
  readonly node_type: string
  readonly version: number
  readonly params: readonly unknown[]
}

export interface PipeShape {
  readonly id: string
  readonly name: string
  readonly description: string | null
  readonly endpoint: string | null
  readonly nodes: readonly NodeShape[]
  readonly type: string
  readonly url: string
  readonly parent: string | null
}

/** A service with a data source `events`, and what tests of pipes ask of it. */
export class PipeService {
  readonly service: TestService
  readonly call: TestService['call']

  constructor(service: TestService) {
    this.service = service
    this.call = service.call.bind(service)
  }

  async show(name: string): Promise<PipeShape> {
    return pipeIn(await this.call('GET', `/v0/pipes/${name}`))
  }

  /** A pipe with these queries as its nodes `n0`, `n1`, … */
  async create(name: string, ...queries: readonly string[]): Promise<PipeShape> {
    const nodes = queries.map((sql, index) => ({ name: `n${index}`, sql }))
    return pipeIn(await this.call('POST', '/v0/pipes', { body: JSON.stringify({ name, nodes }) }))
  }
}

export async function openPipeService(t: Test, given: Partial<Options> = {}): Promise<PipeService> {
  const service = await openTestService(t, given)
  await service.create('events', 'day Date, user String, n UInt32')
  return new PipeService(service)
}

/** The pipe in an answer; other tests look at its shape. */
export function pipeIn({ status, text, json }: Answer): PipeShape {
  if (status !== 200) throw new Error(`answered ${status}: ${text}`)
  // The shape of an answer is what its tests check.
  return json as PipeShape
}

/** The same for a node. */
export function nodeIn({ status, text, json }: Answer): NodeShape {
  if (status !== 200) throw new Error(`answered ${status}: ${text}`)
  // As above.
  return json as NodeShape
}

export function errorOf({ json }: Answer): string {
  // Every error has one shape, which tests of the HTTP room check.
  return (json as { readonly error: string }).error
}
