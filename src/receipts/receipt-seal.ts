/**
 * Receipts as texts: `mr1.<process>.<what was acknowledged, sealed>`.
 *
 * 1. Nobody makes a receipt but this service, and a receipt tells its holder nothing: neither which data source, nor how far the log
 *    is, which would tell how much others write.
 * 2. It costs an answer one block of AES. The block with the data source is made once. Each next one is masked with what the one before
 *    it becomes when it is encrypted again, so that blocks of two receipts make none together.
 * 3. Every bit of the text counts. Eight bytes behind the place show that a receipt is whole: zeros, or, for an import, the first half of
 *    its id, which is never all zeros and must stand in the third block again. Digits whose last bits stand for nothing are refused.
 */
import { type Cipher, createCipheriv, createDecipheriv, createHmac } from 'node:crypto'
import type { DataSourceId } from '../catalog/data-source.types.ts'
import { parseDataSourceId } from '../catalog/data-source-id.ts'
import { assert } from '../shared/assert.ts'

/** What a receipt says: all rows of a data source that were acknowledged up to a place of the log. */
export interface SealedPlace {
  readonly dataSourceId: DataSourceId
  /** 0 is before everything. */
  readonly place: number
  /** The import that they are of, where it may go on behind its answer; 32 hex digits. */
  readonly importHex: string | null
}

const cipherName = 'aes-128-ecb'
const blockBytes = 16
const highBase = 2 ** 32
/** Where what shows that a receipt is whole stands in the second block, behind the place. */
const tagStart = 8
/** The last digit of a block has four bits that stand for nothing, and are zeros. */
const textForm = /^mr1\.([\w-]{8})\.([\w-]{21}[AQgw])([\w-]{21}[AQgw])([\w-]{21}[AQgw])?$/
const placesMax = 10_000

/** What comes first in the receipts of a data source. */
interface Beginning {
  readonly text: string
  /** Room for the next block; its second half is that of the mask, as it stands for zeros. */
  readonly next: Buffer
  /** The first half of the mask. */
  readonly high: number
  readonly low: number
}

/** The process that a receipt names; null when the text is none. */
export function processIdOf(text: string): string | null {
  return textForm.exec(text)?.[1] ?? null
}

/** Seals and opens the receipts of one process, by a key that follows from the service's and its name. */
export class ReceiptSeal {
  readonly #processId: string
  readonly #key: Buffer
  readonly #cipher: Cipher
  readonly #beginnings = new Map<DataSourceId, Beginning>()

  constructor(secret: Uint8Array, processId: string) {
    this.#processId = processId
    this.#key = createHmac('sha256', secret).update(`receipts of ${processId}`).digest().subarray(0, blockBytes)
    // Whole blocks in, whole blocks out: it is never ended, and serves for all.
    this.#cipher = createCipheriv(cipherName, this.#key, null).setAutoPadding(false)
  }

  seal(dataSourceId: DataSourceId, place: number, importHex: string | null = null): string {
    const { text, high, low, next } = this.#beginnings.get(dataSourceId) ?? this.#begin(dataSourceId)
    next.writeUInt32BE((high ^ Math.floor(place / highBase)) >>> 0, 0)
    next.writeUInt32BE((low ^ (place % highBase)) >>> 0, 4)
    if (importHex === null) return text + this.#cipher.update(next).toString('base64url')
    const importId = Buffer.from(importHex, 'hex')
    assert(importId.length === blockBytes && tagOf(importId) !== 0n, 'the id of an import has the bytes of a block')
    const tagged = Buffer.from(next)
    tagged.writeBigUInt64BE(tagged.readBigUInt64BE(tagStart) ^ tagOf(importId), tagStart)
    const sealed = this.#cipher.update(tagged)
    const masked = xor(importId, this.#cipher.update(sealed))
    return text + sealed.toString('base64url') + this.#cipher.update(masked).toString('base64url')
  }

  /** What a text says that this process has sealed; null when it has not. */
  open(text: string): SealedPlace | null {
    const [, processId, ...texts] = textForm.exec(text) ?? []
    if (processId !== this.#processId) return null
    const sealed = texts.flatMap((one) => (one === undefined ? [] : [Buffer.from(one, 'base64url')]))
    const decipher = createDecipheriv(cipherName, this.#key, null).setAutoPadding(false)
    const [subject, until, importId] = sealed.map((block, index) => {
      const before = sealed[index - 1]
      const plain = decipher.update(block)
      return before === undefined ? plain : xor(plain, this.#cipher.update(before))
    })
    assert(subject !== undefined && until !== undefined, 'the form has two blocks at least')
    const place = until.readUInt32BE(0) * highBase + until.readUInt32BE(4)
    const tag = importId === undefined ? 0n : tagOf(importId)
    if (until.readBigUInt64BE(tagStart) !== tag || !Number.isSafeInteger(place)) return null
    const dataSourceId = parseDataSourceId(`t_${subject.toString('hex')}`)
    return { dataSourceId, place, importHex: importId?.toString('hex') ?? null }
  }

  #begin(dataSourceId: DataSourceId): Beginning {
    // Those of data sources that are gone go with the others.
    if (this.#beginnings.size >= placesMax) this.#beginnings.clear()
    const block = this.#cipher.update(Buffer.from(dataSourceId.slice(2), 'hex'))
    assert(block.length === blockBytes, 'an id has the bytes of a block')
    const text = `mr1.${this.#processId}.${block.toString('base64url')}`
    const mask = this.#cipher.update(block)
    const beginning = { text, next: Buffer.from(mask), high: mask.readUInt32BE(0), low: mask.readUInt32BE(4) }
    this.#beginnings.set(dataSourceId, beginning)
    return beginning
  }
}

/** What the second block has of the id of an import. */
function tagOf(importId: Buffer): bigint {
  return importId.readBigUInt64BE(0)
}

function xor(block: Buffer, mask: Buffer): Buffer {
  return Buffer.from(block.map((byte, index) => byte ^ (mask[index] ?? 0)))
}
