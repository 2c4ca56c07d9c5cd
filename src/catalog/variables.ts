// The variables of the workspace: named secrets, in memory for templates and in a storage for the next start.
//
// Invariants: readers see a change only when it is on disk; changes are made one after the other, each checked against
// the state that the one before left.

import { ChangeQueue } from '../shared/change-queue.ts'
import { errors } from '../shared/errors/errors.ts'
import type { LoadedRecords } from '../storage/loaded-records.ts'
import type { RecordKind } from '../storage/storage.types.ts'
import { checkFormat, readInteger, readOneOf, readRecord, readString } from './record-fields.ts'
import type { Variable, Variables, VariableValue } from './variable.types.ts'

/** A workspace has room for this many variables, each with so many bytes of UTF-8. */
export const variablesMax = 100
export const variableBytesMax = 8 * 1024

const nameCharactersMax = 255
// A change takes a few milliseconds, and each is held by a request that waits for it.
const changesWaitingMax = 100
const recordFormat = 1

interface VariablesOptions {
  /** Epoch milliseconds. */
  readonly now: () => number
}

/** What variables are kept in. */
export const variableKinds: readonly RecordKind[] = ['variables']

/**
 * Opens the variables over what was loaded of `variableKinds`.
 *
 * @throws CatalogRecordError when a record cannot be read.
 */
export function openVariables(options: VariablesOptions, records: LoadedRecords): Variables {
  return new LoadedVariables(options, records)
}

interface Entry {
  readonly variable: Variable
  readonly value: string
}

class LoadedVariables implements Variables {
  readonly #now: () => number
  readonly #records: LoadedRecords
  readonly #changes = new ChangeQueue(changesWaitingMax)
  readonly #entries = new Map<string, Entry>()
  #version = 0

  constructor({ now }: VariablesOptions, records: LoadedRecords) {
    this.#now = now
    this.#records = records
    for (const [name, record] of records.take('variables')) this.#entries.set(name, decodeEntry(name, record))
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
      await this.#records.write([{ kind: 'variables', key: name, value: null }])
      this.#entries.delete(name)
      this.#version += 1
    })
  }

  close(): Promise<void> {
    return this.#changes.close()
  }

  async #write(entry: Entry): Promise<Variable> {
    const { variable } = entry
    const record = { format: recordFormat, ...variable, value: entry.value }
    await this.#records.write([{ kind: 'variables', key: variable.name, value: record }])
    this.#entries.set(variable.name, entry)
    this.#version += 1
    return variable
  }

  #expect(name: string): Entry {
    const entry = this.#entries.get(name)
    if (entry === undefined) throw errors.VARIABLE_NOT_FOUND({ isRead: false })
    return entry
  }

  /** Makes one change after all that were asked for before it. @throws CHANGES_TOO_MANY (503) */
  #change<Result>(make: () => Promise<Result>): Promise<Result> {
    return this.#changes.run('variables', make)
  }
}

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
