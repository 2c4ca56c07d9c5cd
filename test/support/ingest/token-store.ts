import { tableFromIPC } from 'apache-arrow'
import type { AppendRequest } from '../../../src/store/store.types.ts'
import { StoreError } from '../../../src/store/store-error.ts'
import { FakeStore } from './fake-store.ts'

/** Takes each block of one column `n` once by its token, as the engine does, and gives an account of the values. */
export class TokenStore extends FakeStore {
  readonly tokens: Map<string, readonly number[]>
  /** Tables that take nothing for now. */
  readonly failing = new Set<string>()

  constructor(tokens: ReadonlyMap<string, readonly number[]> = new Map()) {
    super({ isOpen: true })
    this.tokens = new Map(tokens)
  }

  override async append(request: AppendRequest): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve))
    this.refuse(request)
    const token = `${request.table} ${request.blockId}`
    if (this.tokens.has(token)) return
    this.keep(token, valuesOf(request))
  }

  /** Every value that is in a table, as often as it is. */
  values(): readonly number[] {
    return [...this.tokens.values()].flat()
  }

  /** Forgets the blocks of a table and what it had, as a truncate does. */
  truncate(table: string): void {
    for (const token of this.tokens.keys()) if (token.startsWith(`${table} `)) this.tokens.delete(token)
  }

  protected refuse({ table }: AppendRequest): void {
    if (this.failing.has(table)) throw new StoreError({ kind: 'engine', message: 'no room', clickhouseCode: 243 })
  }

  protected keep(token: string, values: readonly number[]): void {
    this.tokens.set(token, values)
  }
}

function valuesOf({ parts }: AppendRequest): readonly number[] {
  const inMemory = parts.filter((part) => part instanceof Uint8Array)
  return inMemory.flatMap((part) => [...(tableFromIPC(part).getChild('__0') ?? [])].map(Number))
}
