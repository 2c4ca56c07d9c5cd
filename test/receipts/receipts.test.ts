import t from 'tap'
import { parseDataSourceId } from '../../src/catalog/data-source-id.ts'
import type { PlaceWait } from '../../src/ingest/ingest.types.ts'
import { openReceipts } from '../../src/receipts/receipts.ts'
import { dataSource } from '../support/catalog/test-catalog.ts'

const id = parseDataSourceId(`t_${'0123456789abcdef'.repeat(2)}`)

interface Log {
  readonly place?: number
  /** Up to where rows can be queried. */
  readonly stored?: number
  readonly lost?: number
}

/** Receipts of processes that follow one another on the same settings, over logs that hold what a test says. */
function openDirectory() {
  const values = new Map<string, string>()
  const settings = {
    read: (name: string) => values.get(name),
    write: async (name: string, value: string) => {
      values.set(name, value)
    },
  }
  const catalog = { find: (name: string) => (name === id ? dataSource(name) : undefined), listPipes: () => [] }
  return async ({ place = 0, stored = Number.MAX_SAFE_INTEGER, lost = -1 }: Log = {}) => {
    const waits: PlaceWait[] = []
    const ingest = {
      logPlace: place,
      isLost: (at: number) => at === lost,
      isQueryable: ({ place: at }: Pick<PlaceWait, 'place'>) => at <= stored,
      untilQueryable: (wait: PlaceWait) => {
        waits.push(wait)
        return new Promise<boolean>((resolve) => wait.signal.addEventListener('abort', () => resolve(false)))
      },
    }
    const deps = { settings, catalog, ingest, behind: { of: () => [] }, clock: () => 0 }
    const receipts = await openReceipts({ receiptWaitMaxMs: 500, receiptWaitsMax: 1 }, deps)
    const until = (text: string, signal = new AbortController().signal): Promise<void> =>
      receipts.untilQueryable(receipts.read([text]), [id], signal)
    return { receipts, waits, until }
  }
}

t.test('whoever leaves gives its place back', async (t) => {
  const { receipts, waits, until } = await openDirectory()({ stored: 4 })
  await until(receipts.textOf(id, 4))
  const text = receipts.textOf(id, 5)
  for (let count = 1; count <= 3; count += 1) {
    const controller = new AbortController()
    const waiting = until(text, controller.signal)
    await t.rejects(until(text), { code: 'RECEIPT_WAITS_TOO_MANY', status: 503 })
    await until(receipts.textOf(id, 4))
    controller.abort(new Error('the client has left'))
    await t.rejects(waiting, /the client has left/)
    t.match(waits, { length: count })
    t.match(waits.at(-1), { dataSourceId: id, place: 5, timeMaxMs: 500 })
  }
})

t.test('the receipts of earlier processes are judged by what the log had at their end', async (t) => {
  const open = openDirectory()
  const first = await open()
  const texts = [40, 41].map((place) => first.receipts.textOf(id, place))
  const second = await open({ place: 40 })
  await second.until(texts[0] ?? '')
  await t.rejects(second.until(texts[1] ?? ''), { code: 'RECEIPT_NOT_REACHED', message: /lost with a part of the log/ })
  const third = await open({ place: 90 })
  await third.until(texts[0] ?? '')
  await t.rejects(third.until(texts[1] ?? ''), { code: 'RECEIPT_NOT_REACHED' })
  const anew = await open({ place: 0 })
  for (const text of texts) t.throws(() => anew.receipts.read([text]), { code: 'RECEIPT_INVALID', status: 400 })
})

t.test('rows that damage took are told to be lost', async (t) => {
  const { receipts, until } = await openDirectory()({ place: 9, lost: 7 })
  await until(receipts.textOf(id, 6))
  await t.rejects(until(receipts.textOf(id, 7)), { code: 'RECEIPT_NOT_REACHED', message: /lost/ })
  await until(receipts.textOf(id, 8))
})
