import { assert } from '../../../src/shared/assert.ts'
import { LoadedRecords } from '../../../src/storage/loaded-records.ts'
import { RecordWatchers } from '../../../src/storage/record-watchers.ts'
import type {
  RecordChange,
  RecordKind,
  RecordStorage,
  RecordWrite,
  StoredRecord,
} from '../../../src/storage/storage.types.ts'
import { StorageConflictError } from '../../../src/storage/storage-errors.ts'

/** A storage that forgets everything with the test, and fails when it is told to. */
export class MemoryStorage implements RecordStorage {
  /** What every batch fails with; null lets them pass. */
  failure: Error | null = null
  /** What every batch waits for before it is written. */
  held: Promise<void> = Promise.resolve()
  /** The keys that were written, in order. */
  readonly writtenKeys: string[] = []
  readonly #records = new Map<string, { readonly kind: RecordKind; readonly record: StoredRecord }>()
  readonly #watchers = new RecordWatchers()
  #version = 0
  #lastWrite: Promise<unknown> = Promise.resolve()

  async get(kind: RecordKind, key: string): Promise<StoredRecord | null> {
    return copyOf(this.#records.get(placeOf(kind, key))?.record ?? null)
  }

  async list(kind: RecordKind, prefix = ''): Promise<readonly StoredRecord[]> {
    const found = [...this.#records.values()].filter((one) => one.kind === kind && one.record.key.startsWith(prefix))
    return found.map(({ record }) => copyOf(record)).sort((a, b) => (a.key < b.key ? -1 : 1))
  }

  watch(kind: RecordKind, tell: (changes: readonly RecordChange[]) => void): () => void {
    return this.#watchers.add(kind, tell)
  }

  commit(writes: readonly RecordWrite[]): Promise<number> {
    const written = this.#lastWrite.then(() => this.#write(writes))
    this.#lastWrite = written.catch(() => undefined)
    return written
  }

  async close(): Promise<void> {
    await this.#lastWrite
  }

  async #write(writes: readonly RecordWrite[]): Promise<number> {
    if (writes.length === 0) return this.#version
    for (const { kind, key, version } of writes) {
      assert(/^[ -~]{1,300}$/.test(key), 'a key is printable ASCII')
      const found = this.#records.get(placeOf(kind, key))?.record.version ?? null
      if (found !== version) throw new StorageConflictError(`${key} has the version ${found}`)
    }
    assert(new Set(writes.map(({ kind, key }) => placeOf(kind, key))).size === writes.length, 'each is written once')
    this.writtenKeys.push(...writes.map(({ key }) => key))
    await this.held
    if (this.failure !== null) throw this.failure
    this.#version += 1
    for (const { kind, key, value } of writes) {
      if (value === null) this.#records.delete(placeOf(kind, key))
      else this.#records.set(placeOf(kind, key), { kind, record: copyOf({ key, value, version: this.#version }) })
    }
    this.#watchers.tell(writes, this.#version)
    return this.#version
  }
}

/** What a module is opened over that finds nothing. */
export function emptyRecords(storage: RecordStorage = new MemoryStorage()): LoadedRecords {
  return new LoadedRecords(storage)
}

function placeOf(kind: RecordKind, key: string): string {
  return `${kind}/${key}`
}

/** Nobody holds what is kept here. */
function copyOf<Value>(value: Value): Value {
  return structuredClone(value)
}
