// The variables of the workspace: named secrets, in memory for templates and in a storage for the next start.
//
// Invariants: readers see a change only when it is on disk; changes are made one after the other, each checked against
// the state that the one before left.

import { errors } from '../shared/errors/errors.ts'
import { checkFormat, readInteger, readOneOf, readRecord, readString } from './record-fields.ts'
import type { Variable, VariableStorage, Variables, VariableValue } from './variable.types.ts'

/** A workspace has room for this many variables, each with so many bytes of UTF-8. */
export const variablesMax = 100
export const variableBytesMax = 8 * 1024

const nameCharactersMax = 255
// A change takes a few milliseconds, and each is held by a request that waits for it.
const changesWaitingMax = 100
const retryAfterSeconds = 1
const recordFormat = 1

interface VariablesOptions {
  /** Epoch milliseconds. */
  readonly now: () => number
}

/**
 * Opens the variables over what the storage holds.
 *
 * @throws CatalogRecordError when a record on disk cannot be read.
 */
export function openVariables(options: VariablesOptions, storage: VariableStorage): Variables {
  return new StoredVariables(options, storage)
}

interface Entry {
  readonly variable: Variable
  readonly value: string
}

class StoredVariables implements Variables {
  readonly #now: () => number
  readonly #storage: VariableStorage
  readonly #entries = new Map<string, Entry>()
  #version = 0
  #waitingCount = 0
  #lastChange: Promise<unknown> = Promise.resolve()

  constructor({ now }: VariablesOptions, storage: VariableStorage) {
    this.#now = now
    this.#storage = storage
    for (const [name, record] of storage.load()) this.#entries.set(name, decodeEntry(name, record))
  }

  get version(): number {
    return this.#version
  }

  list(): readonly Variable[] {
    const variables = Array.from(this.#entries.values(), ({ variable }) => variable)
    return variables.sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  find(name: string): Variable | undefined {
    return this.#entries.get(name)?.variable
  }

  secretOf(name: string): string | undefined {
    return this.#entries.get(name)?.value
  }

  create(name: string, { value, editedBy }: VariableValue): Promise<Variable> {
    return this.#change(async () => {
      checkName(name)
      checkValue(name, value)
      if (this.#entries.has(name)) throw errors.VARIABLE_EXISTS({ name })
      if (this.#entries.size >= variablesMax) throw errors.VARIABLES_TOO_MANY({ variablesMax })
      const at = this.#now()
      return await this.#write({ variable: { name, type: 'secret', createdAt: at, updatedAt: at, editedBy }, value })
    })
  }

  update(name: string, { value, editedBy }: VariableValue): Promise<Variable> {
    return this.#change(async () => {
      const { variable } = this.#expect(name)
      checkValue(name, value)
      return await this.#write({ variable: { ...variable, updatedAt: this.#now(), editedBy }, value })
    })
  }

  remove(name: string): Promise<void> {
    return this.#change(async () => {
      this.#expect(name)
      await this.#storage.write(name, null)
      this.#entries.delete(name)
      this.#version += 1
    })
  }

  async close(): Promise<void> {
    await this.#lastChange
  }

  async #write(entry: Entry): Promise<Variable> {
    const { variable } = entry
    await this.#storage.write(variable.name, { format: recordFormat, ...variable, value: entry.value })
    this.#entries.set(variable.name, entry)
    this.#version += 1
    return variable
  }

  #expect(name: string): Entry {
    const entry = this.#entries.get(name)
    if (entry === undefined) throw errors.VARIABLE_NOT_FOUND({ isRead: false })
    return entry
  }

  /** Makes one change after all that were asked for before it. */
  async #change<Result>(make: () => Promise<Result>): Promise<Result> {
    if (this.#waitingCount >= changesWaitingMax) throw errors.CHANGES_TOO_MANY({ retryAfterSeconds })
    this.#waitingCount += 1
    const change = this.#lastChange.then(make)
    // The next change comes after this one, however it ends; its caller alone is told how.
    this.#lastChange = change.then(nothing, nothing)
    try {
      return await change
    } finally {
      this.#waitingCount -= 1
    }
  }
}

function nothing(): void {}

/** Names are what `tb_secret()` takes: they stand in SQL as the names of query parameters. */
function checkName(name: string): void {
  if (name.length > nameCharactersMax) {
    throw errors.NAME_INVALID({ name, reason: `it is longer than ${nameCharactersMax} characters` })
  }
  if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) return
  throw errors.NAME_INVALID({ name, reason: 'use letters, digits and _, and do not begin with a digit' })
}

function checkValue(name: string, value: string): void {
  if (Buffer.byteLength(value) > variableBytesMax) throw errors.VALUE_TOO_LARGE({ name, bytesMax: variableBytesMax })
}

function decodeEntry(name: string, record: unknown): Entry {
  return readRecord(`variable ${name}`, record, (fields) => {
    checkFormat(fields, recordFormat)
    return {
      variable: {
        name,
        type: readOneOf(fields, 'type', ['secret']),
        createdAt: readInteger(fields, 'createdAt'),
        updatedAt: readInteger(fields, 'updatedAt'),
        editedBy: readString(fields, 'editedBy'),
      },
      value: readString(fields, 'value'),
    }
  })
}
