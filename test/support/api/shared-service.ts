import type { Test } from 'tap'
import type { Options } from '../../../src/config.ts'
import { openTestService, type TestService } from './test-service.ts'

interface Listed {
  readonly id: string
  readonly name: string
}

/**
 * One service for the tests of a file, as a start takes seconds. Each test gets it without the tokens, pipes, data sources and variables of
 * the one before; jobs, rates and rows about what was done stay.
 */
export class SharedService {
  readonly #opened: Promise<TestService>
  readonly #token: string | undefined
  /** Of the tokens that a start makes. */
  #firstTokens: ReadonlySet<string> | null = null

  /** @param t the file's own, whose end closes the service. */
  constructor(t: Test, given: Partial<Options> = {}) {
    this.#opened = openTestService(t, given)
    this.#token = given.adminToken
  }

  async take(): Promise<TestService> {
    const service = await this.#opened
    const tokens = await this.#listed(service, 'tokens')
    this.#firstTokens ??= new Set(tokens.map(({ id }) => id))
    for (const { id } of tokens) if (!this.#firstTokens.has(id)) await this.#remove(service, `tokens/${id}`)
    for (const kind of ['pipes', 'datasources', 'variables']) {
      for (const { name } of await this.#listed(service, kind))
        await this.#remove(service, `${kind}/${name}?force=true`)
    }
    service.log.entries.length = 0
    return service
  }

  async #listed(service: TestService, kind: string): Promise<readonly Listed[]> {
    const { json } = await service.call('GET', `/v0/${kind}`, this.#call)
    // The shape is what other tests check.
    return (json as Readonly<Record<string, readonly Listed[]>>)[kind] ?? []
  }

  async #remove(service: TestService, path: string): Promise<void> {
    const { status, text } = await service.call('DELETE', `/v0/${path}`, this.#call)
    if (status >= 400) throw new Error(`DELETE ${path} answered ${status}: ${text}`)
  }

  get #call(): { readonly token?: string } {
    return this.#token === undefined ? {} : { token: this.#token }
  }
}
