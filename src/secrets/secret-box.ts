/**
 * AES-256-GCM with a random nonce of 96 bits for each text. What a text belongs to is authenticated with it.
 *
 * A text is sealed as JSON, so that any string comes back as it was, half of a surrogate pair too. Its length shows.
 */
import { createCipheriv, randomBytes } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { assert } from '../shared/assert.ts'
import type { RecordKind } from '../storage/storage.types.ts'
import { cipherName, nonceBytes, openSealed, sealedForm, tagBytes } from './open-sealed.ts'
import { type OpenedTexts, openInThread } from './opening-thread.ts'
import type { SealedRecord, SealedText, SecretBox, SecretKey } from './secret-box.types.ts'

/** How long the event loop is held by records that are taken in a row. */
const sliceMs = 1
/** Records that are handed to the thread together: a round of it is a tenth of a millisecond. */
const batchMax = 256
/** As many are opened on this thread sooner than another one answers: in half a millisecond. */
const ownMax = 64

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
  return typeof value === 'string' && sealedForm.test(value)
}

/** A box that seals with the first of the keys, and opens with all. Precondition: there is one. */
export function createSecretBox(keys: readonly SecretKey[]): SecretBox {
  return new KeyedBox(keys)
}

class KeyedBox implements SecretBox {
  readonly #sealing: SecretKey
  readonly #keys: ReadonlyMap<string, SecretKey['key']>

  constructor(keys: readonly SecretKey[]) {
    const [first] = keys
    assert(first !== undefined, 'a box has a key')
    this.#sealing = first
    this.#keys = new Map(keys.map(({ id, key }) => [id, key]))
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
    return openSealed(this.#keys, sealed, context)
  }

  async openMany(records: Iterable<SealedRecord | null>): Promise<OpenedTexts> {
    const opened: (string | null)[] = []
    let batch: (SealedRecord | null)[] = []
    let sliceStart = performance.now()
    for (const record of records) {
      batch.push(record)
      if (batch.length < batchMax && performance.now() - sliceStart < sliceMs) continue
      opened.push(...(await this.#openBatch(batch)))
      batch = []
      await setImmediate()
      sliceStart = performance.now()
    }
    opened.push(...(await this.#openBatch(batch)))
    return opened
  }

  async #openBatch(records: readonly (SealedRecord | null)[]): Promise<OpenedTexts> {
    if (records.length > ownMax) return await openInThread({ keys: this.#keys, records })
    return records.map((record) => (record === null ? null : this.open(record.sealed, record.context)))
  }

  hasKeyOf(sealed: SealedText): boolean {
    return this.#keys.has(sealedForm.exec(sealed)?.[1] ?? '')
  }
}
