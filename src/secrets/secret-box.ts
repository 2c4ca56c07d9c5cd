/**
 * AES-256-GCM with a random nonce of 96 bits for each text. What a text belongs to is authenticated with it.
 *
 * A text is sealed as JSON, so that any string comes back as it was, half of a surrogate pair too. Its length shows.
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { assert } from '../shared/assert.ts'
import type { RecordKind } from '../storage/storage.types.ts'
import type { SealedRecord, SealedText, SecretBox, SecretKey } from './secret-box.types.ts'

const cipherName = 'aes-256-gcm'
const nonceBytes = 12
const tagBytes = 16
const form = /^1\.([\w-]{11})\.([\w-]{40,})$/
/** How long the event loop is held by what is opened in a row. */
const sliceMs = 1

/** What the sealed text of a record belongs to. */
export function contextOf(kind: RecordKind, key: string): string {
  return `${kind}/${key}`
}

/** @throws Error when the text is not of the form of a sealed one; it is not repeated in the message. */
export function parseSealedText(text: string): SealedText {
  if (!isSealedText(text)) throw new Error('it is not a sealed text')
  return text
}

export function isSealedText(value: unknown): value is SealedText {
  return typeof value === 'string' && form.test(value)
}

/** A box that seals with the first of the keys, and opens with all. Precondition: there is one. */
export function createSecretBox(keys: readonly SecretKey[]): SecretBox {
  return new KeyedBox(keys)
}

class KeyedBox implements SecretBox {
  readonly #sealing: SecretKey
  readonly #keys: ReadonlyMap<string, SecretKey>

  constructor(keys: readonly SecretKey[]) {
    const [first] = keys
    assert(first !== undefined, 'a box has a key')
    this.#sealing = first
    this.#keys = new Map(keys.map((key) => [key.id, key]))
  }

  get keyId(): string {
    return this.#sealing.id
  }

  seal(plain: string, context: string): SealedText {
    const { id, key } = this.#sealing
    const nonce = randomBytes(nonceBytes)
    const cipher = createCipheriv(cipherName, key, nonce, { authTagLength: tagBytes })
    cipher.setAAD(Buffer.from(context))
    const encrypted = [cipher.update(JSON.stringify(plain), 'utf8'), cipher.final()]
    const bytes = Buffer.concat([nonce, ...encrypted, cipher.getAuthTag()])
    return parseSealedText(`1.${id}.${bytes.toString('base64url')}`)
  }

  open(sealed: SealedText, context: string): string | null {
    const [, id = '', text = ''] = form.exec(sealed) ?? []
    const found = this.#keys.get(id)
    if (found === undefined) return null
    const bytes = Buffer.from(text, 'base64url')
    const options = { authTagLength: tagBytes }
    const decipher = createDecipheriv(cipherName, found.key, bytes.subarray(0, nonceBytes), options)
    decipher.setAAD(Buffer.from(context))
    decipher.setAuthTag(bytes.subarray(-tagBytes))
    const plain = decipher.update(bytes.subarray(nonceBytes, -tagBytes))
    return isAuthentic(() => decipher.final()) ? String(JSON.parse(plain.toString())) : null
  }

  async openMany(records: Iterable<SealedRecord | null>): Promise<readonly (string | null)[]> {
    const opened: (string | null)[] = []
    let sliceStart = performance.now()
    for (const record of records) {
      opened.push(record === null ? null : this.open(record.sealed, record.context))
      if (performance.now() - sliceStart < sliceMs) continue
      await setImmediate()
      sliceStart = performance.now()
    }
    return opened
  }

  hasKeyOf(sealed: SealedText): boolean {
    return this.#keys.has(form.exec(sealed)?.[1] ?? '')
  }
}

/** The cipher says by an exception that the tag is not that of the text and its context; it says nothing else so. */
function isAuthentic(finish: () => unknown): boolean {
  try {
    finish()
    return true
  } catch {
    return false
  }
}
