// The forms in which a secret value may lie in bytes, and the search for them.

import { readFileSync } from 'node:fs'
import { entriesBelow, pathOf } from '../living-folder.ts'

/** A value that nobody may find, and what it is, for the message. */
export interface HiddenValue {
  readonly label: string
  readonly value: string
}

interface Needle {
  readonly label: string
  readonly form: string
  readonly bytes: Buffer
}

/**
 * What is looked for. Of a token it is the last part, which makes it one: the others are the same in tokens that still are
 * valid, or say what the token is called.
 */
export class ValueSearch {
  readonly #needles: readonly Needle[]

  constructor(values: readonly HiddenValue[]) {
    this.#needles = values.flatMap(needlesOf)
  }

  get needleCount(): number {
    return this.#needles.length
  }

  /** What of all values is in these bytes. */
  in(bytes: Uint8Array | string): readonly string[] {
    const text = Buffer.from(bytes)
    return this.#needles.filter((needle) => text.includes(needle.bytes)).map(({ label, form }) => `${label}, ${form}`)
  }

  /** The same of all files below a folder, but for one that holds a value by design. */
  below(folder: string, except: readonly string[] = []): readonly string[] {
    return filesBelow(folder)
      .filter((path) => !except.includes(path))
      .flatMap((path) => this.in(bytesOf(path)).map((found) => `${path.slice(folder.length + 1)}: ${found}`))
  }
}

/** Files of a folder in which a service may work. */
export function filesBelow(folder: string): readonly string[] {
  return entriesBelow(folder)
    .filter((entry) => entry.isFile())
    .map(pathOf)
}

function bytesOf(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    // The engine takes parts away while they are looked at.
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return Buffer.alloc(0)
    throw error
  }
}

function needlesOf({ label, value }: HiddenValue): readonly Needle[] {
  const secret = /^(?:p|eyJ[\w-]*)\.[\w-]+\.([\w-]+)$/.exec(value)?.[1] ?? value
  const bytes = Buffer.from(secret)
  const forms = new Map<string, string>([
    ['as it is', secret],
    ['URL-encoded', encodeURIComponent(secret)],
    ['URL-encoded as a form', new URLSearchParams({ v: secret }).toString().slice(2)],
    ['as JSON', JSON.stringify(secret).slice(1, -1)],
    ['in hex', bytes.toString('hex')],
    ['in HEX', bytes.toString('hex').toUpperCase()],
    ['backwards', [...secret].reverse().join('')],
  ])
  // Base64 of a longer text holds it in one of three ways, by where it begins; what depends on its neighbours is cut off.
  for (const offset of [0, 1, 2]) {
    const cut = Buffer.concat([Buffer.alloc(offset), bytes])
      .toString('base64')
      .replace(/=+$/, '')
      .slice(offset === 0 ? 0 : 4, -2)
    forms.set(`in base64 at ${offset}`, cut)
    forms.set(`in base64url at ${offset}`, cut.replaceAll('+', '-').replaceAll('/', '_'))
  }
  const different = new Map([...forms].map(([form, text]) => [text, form]))
  return [...different].map(([text, form]) => ({ label, form, bytes: Buffer.from(text) }))
}
