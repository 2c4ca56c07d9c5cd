import type { FastifyRequest } from 'fastify'
import type { Receipts, ReceiptWaiter } from '../../receipts/receipts.ts'
import type { Question } from './question.ts'

export const receiptHeader = 'x-millrace-receipt'

/** Called with the tables that a query reads, before it runs. */
export type UntilFresh = (tables: readonly string[]) => Promise<void>

interface AwaitingDeps {
  readonly receipts: Pick<Receipts, 'read' | 'untilQueryable'>
  /** Throws where the query may not go on by then. */
  readonly onWaited: () => void
}

/**
 * What a query is to wait for: the receipts of a request, out of its header and the parameter `wait_until`; undefined when there are
 * none.
 * @throws RECEIPT_INVALID (400)
 */
export function awaitedBy(
  request: FastifyRequest,
  question: Question,
  { receipts, onWaited, ...waiter }: AwaitingDeps & ReceiptWaiter,
): UntilFresh | undefined {
  const texts = receiptTexts(request.headers[receiptHeader], question.texts('wait_until'))
  if (texts.length === 0) return undefined
  const read = receipts.read(texts)
  return async (tables) => {
    await receipts.untilQueryable(read, tables, waiter)
    onWaited()
  }
}

/** The receipts in a header, or several, and in parameters: each may have a list with commas. */
export function receiptTexts(
  header: string | readonly string[] | undefined,
  values: readonly string[],
): readonly string[] {
  if (header === undefined && values.length === 0) return []
  const texts = [...(header === undefined ? [] : [header].flat()), ...values].flatMap((one) => one.split(','))
  return texts.map((text) => text.trim()).filter((text) => text !== '')
}
