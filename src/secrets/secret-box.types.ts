import type { KeyObject } from 'node:crypto'
import type { Brand } from '../shared/brand.ts'

/** A text that only the keys of the box give back: `1.<key id>.<nonce, ciphertext and tag in base64url>`. */
export type SealedText = Brand<string, 'SealedText'>

/** A sealed text with what it belongs to. */
export interface SealedRecord {
  readonly sealed: SealedText
  /** What was given when it was sealed, or it does not open: see `contextOf`. */
  readonly context: string
}

/**
 * Seals texts that must be kept and given back: values of variables, tokens.
 *
 * A record keeps its sealed text in the field `sealed`, with `contextOf(kind, key)` as its context: so a text that was
 * moved to another record does not open, and a change of the key finds them all.
 */
export interface SecretBox {
  /** The id of the key that seals. */
  readonly keyId: string
  seal(plain: string, context: string): SealedText
  /** Null when the key is missing, or the text is not as it was sealed, or belongs to another record. */
  open(sealed: SealedText, context: string): string | null
  /**
   * The same for many, in their order, and null for null: more than a few are opened in a thread of their own. Records are taken
   * in slices of a millisecond, between which others get their turn: give them as they are asked for, where finding them costs
   * something.
   *
   * @throws Error when the thread ends.
   */
  openMany(records: Iterable<SealedRecord | null>): Promise<readonly (string | null)[]>
  /** Whether the key is there. It costs little, and does not tell whether the text is whole. */
  hasKeyOf(sealed: SealedText): boolean
}

/** A key of 256 bits. Its bytes are in an object that no log and no error can show. */
export interface SecretKey {
  /** Known from the bytes, and tells nothing of them. */
  readonly id: string
  readonly key: KeyObject
}
