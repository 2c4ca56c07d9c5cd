import { randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DataSource } from '../../../src/catalog/data-source.types.ts'
import { createDataSourceId } from '../../../src/catalog/data-source-id.ts'
import type { Part, PartFile } from '../../../src/codec/arrow/part.types.ts'
import { parseSchema } from '../../../src/schema/columns/schema-parser.ts'
import { defaultEngine } from '../../../src/schema/engines/engine-definition.ts'
import type { Statements } from '../../../src/store/statements.types.ts'
import type { AppendRequest, RowPartition, Store } from '../../../src/store/store.types.ts'
import { storeVerbs } from '../store/store-verbs.ts'

type Held = { readonly request: AppendRequest; readonly resolve: () => void; readonly reject: (error: Error) => void }

/** A store that keeps what is appended, and whose inserts end when the test says so. */
export class FakeStore implements Store, Statements {
  readonly definitionVersion = 0
  readonly #verbs = storeVerbs(this, this)
  readonly tables = this.#verbs.tables
  readonly partitions = this.#verbs.partitions
  readonly parts = this.#verbs.parts
  readonly views = this.#verbs.views
  readonly trials = this.#verbs.trials
  readonly quarantines = this.#verbs.quarantines
  readonly pins = this.#verbs.pins
  readonly comparisons = this.#verbs.comparisons
  readonly replays = this.#verbs.replays
  readonly rowDeletes = this.#verbs.rowDeletes
  readonly parquet = { columns: async () => [], firstRows: async () => [], countRefused: async () => 0 }
  /** What the engine has, in the order in which inserts ended. */
  readonly stored: AppendRequest[] = []
  /** Inserts under way. */
  readonly held: Held[] = []
  runningMax = 0
  /** True lets every insert end by itself. */
  isOpen: boolean
  /** Inserts that were begun, and what the one with this number (from 1) fails with. */
  begun = 0
  readonly failures = new Map<number, Error>()
  readonly #waiting = new Set<() => void>()

  constructor({ isOpen }: { readonly isOpen: boolean }) {
    this.isOpen = isOpen
  }

  async append(request: AppendRequest): Promise<void> {
    this.begun += 1
    const failure = this.failures.get(this.begun)
    await this.discard(request.parts)
    await new Promise<void>((resolve, reject) => {
      const held = { request, resolve, reject }
      this.held.push(held)
      this.runningMax = Math.max(this.runningMax, this.held.length)
      for (const tell of this.#waiting) tell()
      if (this.isOpen) setImmediate(() => this.#end(held, failure))
    })
  }

  async fill(): Promise<void> {}

  async untilAppended(): Promise<void> {}

  newPartPath(): string {
    return join(tmpdir(), `millrace-fake-part-${randomUUID()}`)
  }

  async discard(parts: readonly Part[]): Promise<void> {
    for (const part of parts) if (!(part instanceof Uint8Array)) await rm(part.path, { force: true })
  }

  /** Resolves when so many inserts have begun. */
  async untilBegun(count: number): Promise<void> {
    while (this.begun < count) {
      await new Promise<void>((resolve) => {
        this.#waiting.add(resolve)
      })
      this.#waiting.clear()
    }
  }

  /** Ends the oldest insert under way. */
  endOne(failure?: Error): void {
    const [held] = this.held
    if (held === undefined) throw new Error('no insert is under way')
    this.#end(held, failure)
  }

  /** From now on every insert ends by itself, and so do those under way. */
  open(): void {
    this.isOpen = true
    for (const held of [...this.held]) this.#end(held)
  }

  rowsOf(table: string): number {
    return this.stored.filter((request) => request.table === table).reduce((total, { rowCount }) => total + rowCount, 0)
  }

  #end(held: Held, failure?: Error): void {
    const index = this.held.indexOf(held)
    if (index < 0) return
    this.held.splice(index, 1)
    if (failure === undefined) {
      this.stored.push(held.request)
      held.resolve()
    } else held.reject(failure)
  }

  async partitionsByRow({ rowCount }: AppendRequest): Promise<readonly RowPartition[]> {
    return Array.from({ length: rowCount }, () => ({ name: '(1)', tag: '' }))
  }

  async writeRows(): Promise<PartFile> {
    return { path: '', byteCount: 0 }
  }

  async command(_sql?: string): Promise<void> {}

  async copy(): Promise<void> {}

  async exchange(): Promise<void> {}

  async copyQuery(): Promise<void> {}

  async rows<Row>(): Promise<readonly Row[]> {
    return []
  }

  async select(): Promise<never> {
    throw new Error('a fake store has no answers')
  }

  async queryTree(): Promise<never> {
    throw new Error('a fake store has no answers')
  }

  syncCount = 0

  async sync(): Promise<void> {
    this.syncCount += 1
  }

  async close(): Promise<void> {}
}

/** A data source that no catalog knows. */
export function testDataSource(schema: string): DataSource {
  return {
    id: createDataSourceId(),
    name: 'rows',
    description: '',
    columns: parseSchema(schema, { columnsMax: 500 }),
    engine: defaultEngine,
    indexes: [],
    kafkaStoreRawValue: false,
    type: 'ndjson',
    createdAt: 0,
    updatedAt: 0,
    version: 1,
  }
}
