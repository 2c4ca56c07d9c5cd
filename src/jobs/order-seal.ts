import { errors } from '../shared/errors/errors.ts'

/** Seals what jobs are to do, as it may name secrets; see `SecretBox`. */
export interface OrderSeal {
  seal(plain: string): string
  /** Null when its key is missing. */
  open(sealed: string): string | null
}

interface SealedOrder {
  readonly format: 1
  readonly sealed: string
}

/** An order as it is kept. */
export function sealedOrder(order: unknown, { seal }: OrderSeal): SealedOrder {
  return { format: 1, sealed: seal(JSON.stringify(order)) }
}

/** What was sealed. @throws JOB_ORDER_LOST (409) when the key is missing, or another release wrote it. */
export function openedOrder(kept: unknown, { open }: OrderSeal): unknown {
  // Whoever asks wrote it with `sealedOrder`, or another release did.
  const { format, sealed } = kept as Partial<SealedOrder>
  const plain = format === 1 && sealed !== undefined ? open(sealed) : null
  if (plain === null) throw errors.JOB_ORDER_LOST()
  return JSON.parse(plain)
}
