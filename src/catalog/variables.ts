// The variables of the workspace: named secrets, in memory for templates and in a storage for the next start.
//
// A record has its value sealed. One whose key is missing is listed and can be written anew, and nobody reads its value.
//
// Invariants: readers see a change only when it is on disk; changes are made one after the other, each checked against
// the state that the one before left.

import { contextOf, parseSealedText } from '../secrets/secret-box.ts'
import type { SecretBox } from '../secrets/secret-box.types.ts'
import { ChangeQueue } from '../shared/change-queue.ts'
import { errors } from '../shared/errors/errors.ts'
import type { LoadedRecords, LoadedWrite } from '../storage/loaded-records.ts'
import type { RecordKind } from '../storage/storage.types.ts'
import { checkFormat, readInteger, readObject, readOneOf, readRecord, readString } from './record-fields.ts'
import type { Variable, Variables, VariableValue } from './variable.types.ts'

/** A workspace has room for this many variables, each with so many bytes of UTF-8. */
export const variablesMax = 100
export const variableBytesMax = 8 * 1024

const nameCharactersMax = 255
// A change takes a few milliseconds, and each is held by a request that waits for it.
const changesWaitingMax = 100
const recordFormat = 2
/** With the value in plain. */
const plainFormat = 1

interface VariablesOptions {
  readonly box: SecretBox
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

/** The record of an earlier release, which has its value in plain, with it sealed; null for any other record. */
export function sealOldVariable({ kind, key, value }: LoadedWrite, box: SecretBox): LoadedWrite | null {
  if (kind !== 'variables' || typeof value !== 'object' || value === null) return null
  const { value: plain, ...fields } = readObject(value, 'record')
  if (fields['format'] !== plainFormat || typeof plain !== 'string') return null
  return { kind, key, value: { ...fields, format: recordFormat, sealed: box.seal(plain, contextOf(kind, key)) } }
}

interface Entry {
  readonly variable: Variable
  /** Null when it cannot be opened. */
  readonly value: string | null
}

class LoadedVariables implements Variables {
  readonly #now: () => number
  readonly #box: SecretBox
  readonly #records: LoadedRecords
  readonly #changes = new ChangeQueue(changesWaitingMax)
  readonly #entries = new Map<string, Entry>()
  #version = 0

  constructor({ now, box }: VariablesOptions, records: LoadedRecords) {
    this.#now = now
    this.#box = box
    this.#records = records
    for (const [name, record] of records.take('variables')) this.#entries.set(name, decodeEntry(name, record, box))
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
    const value = this.#entries.get(name)?.value
    if (value === null) throw errors.SECRET_UNREADABLE({ name })
    return value
  }

  values(): readonly string[] {
    return Array.from(this.#entries.values()).flatMap(({ value }) => value ?? [])
  }

  create(name: string, { value, editedBy }: VariableValue): Promise<Variable> {
    return this.#change(async () => {
      checkName(name)
      checkValue(name, value)
      if (this.#entries.has(name)) throw errors.VARIABLE_EXISTS({ name })
      if (this.#entries.size >= variablesMax) throw errors.VARIABLES_TOO_MANY({ variablesMax })
      const at = this.#now()
      return await this.#write({ name, type: 'secret', createdAt: at, updatedAt: at, editedBy }, value)
    })
  }

  update(name: string, { value, editedBy }: VariableValue): Promise<Variable> {
    return this.#change(async () => {
      const { variable } = this.#expect(name)
      checkValue(name, value)
      return await this.#write({ ...variable, updatedAt: this.#now(), editedBy }, value)
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

  async #write(variable: Variable, value: string): Promise<Variable> {
    const sealed = this.#box.seal(value, contextOf('variables', variable.name))
    const record = { format: recordFormat, ...variable, sealed }
    await this.#records.write([{ kind: 'variables', key: variable.name, value: record }])
    this.#entries.set(variable.name, { variable, value })
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

function decodeEntry(name: string, record: unknown, box: SecretBox): Entry {
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
      value: box.open(parseSealedText(readString(fields, 'sealed')), contextOf('variables', name)),
    }
  })
}
