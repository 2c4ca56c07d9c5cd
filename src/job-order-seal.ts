// What jobs are to do, sealed with the key of the service: queries and URLs may name secrets.

import type { OrderSeal } from './jobs/order-seal.ts'
import type { SealPlain } from './secrets/sealed-records.ts'
import { contextOf, isSealedText } from './secrets/secret-box.ts'
import type { SealedText, SecretBox } from './secrets/secret-box.types.ts'

const context = 'the order of a job'

export function createOrderSeal(box: SecretBox): OrderSeal {
  return {
    seal: (plain) => box.seal(plain, context),
    // What is no sealed text does not open.
    open: (sealed) => box.open(sealed as SealedText, context),
  }
}

/** The record of an order, sealed with the first key of the box; null for any other record, and where its key is missing. */
export const resealJobOrder: SealPlain = (record, box) => {
  const { kind, value } = record
  const order = kind === 'jobs' ? fieldOf(value, 'value') : undefined
  const sealed = fieldOf(order, 'sealed')
  if (!isSealedText(sealed)) return null
  const plain = box.open(sealed, context)
  // Just found: two objects, one in the other.
  if (plain === null) return null
  const again = box.seal(resealStamp(plain, box), context)
  return { ...record, value: { ...(value as object), value: { ...(order as object), sealed: again } } }
}

/** What says in whose name the work is done has a sealed text of its own: see `StaticWarrant`. */
function resealStamp(plain: string, box: SecretBox): string {
  const order: unknown = JSON.parse(plain)
  const warrant = fieldOf(order, 'warrant')
  const stamp = fieldOf(warrant, 'stamp')
  const tokenId = fieldOf(warrant, 'tokenId')
  if (!isSealedText(stamp) || typeof tokenId !== 'string') return plain
  const digest = box.open(stamp, contextOf('jobs', tokenId))
  if (digest === null) return plain
  const resealed = box.seal(digest, contextOf('jobs', tokenId))
  // Just found: two objects, one in the other.
  return JSON.stringify({ ...(order as object), warrant: { ...(warrant as object), stamp: resealed } })
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}
