import t from 'tap'
import { parseDataSourceId } from '../../src/catalog/data-source-id.ts'
import type { PlaceWait } from '../../src/ingest/ingest.types.ts'
import type { Job } from '../../src/jobs/jobs.types.ts'
import { openReceipts } from '../../src/receipts/receipts.ts'
import { dataSource } from '../support/catalog/test-catalog.ts'

const id = parseDataSourceId(`t_${'0123456789abcdef'.repeat(2)}`)

/** A job as far as receipts look at it. */
class TestJobs {
  readonly #jobs = new Map<string, Job>()
  readonly #watching = new Map<string, Set<(job: Job) => void>>()

  set(status: Job['status'], subjectId: string | null): Job {
    const subject = subjectId === null ? null : ({ kind: 'datasource', id: subjectId, name: 'a' } as const)
    const times = { createdAtMs: 0, updatedAtMs: 0, startedAtMs: null }
    const owner = { tokenId: null, tokenName: '' }
    const job: Job = {
      ...{ id: jobId, kind: 'import', status, subject, owner, ...times, isCancellable: true },
      ...{ details: {}, errors: [], errorQuotes: [] },
    }
    this.#jobs.set(job.id, job)
    for (const tell of this.#watching.get(job.id) ?? []) tell(job)
    return job
  }

  forget(): void {
    this.#jobs.clear()
  }

  get watchCount(): number {
    return this.#watching.get(jobId)?.size ?? 0
  }

  readonly find = (id: string): Job | undefined => this.#jobs.get(id)

  readonly watch = (id: string, tell: (job: Job) => void): (() => void) => {
    const all = this.#watching.get(id) ?? new Set()
    this.#watching.set(id, all.add(tell))
    const job = this.find(id)
    if (job !== undefined) tell(job)
    return () => all.delete(tell)
  }
}

const jobId = '01234567-89ab-4def-8123-456789abcdef'

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
  return async ({ place = 0, stored = Number.MAX_SAFE_INTEGER, lost = -1 }: Log = {}, receiptWaitsMax = 1) => {
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
    const jobs = new TestJobs()
    const deps = { settings, catalog, ingest, jobs, behind: { of: () => [] }, clock: () => 0 }
    const receipts = await openReceipts({ receiptWaitMaxMs: 500, receiptWaitsMax }, deps)
    const until = (text: string, signal = new AbortController().signal, ownerId = 'one'): Promise<void> =>
      receipts.untilQueryable(receipts.read([text]), [id], { ownerId, signal })
    return { receipts, waits, until, jobs }
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

t.test('one token has a quarter of the waits, and others find places while it waits', async (t) => {
  for (const [receiptWaitsMax, share, owners] of [
    [8, 2, ['one', 'two', 'three', 'four']],
    [5, 2, ['one', 'two']],
    [1, 1, ['one']],
  ] as const) {
    const { receipts, until } = await openDirectory()({ stored: 4 }, receiptWaitsMax)
    const text = receipts.textOf(id, 5)
    const controller = new AbortController()
    const { signal } = controller
    const waiting: Promise<void>[] = []
    for (const owner of owners) {
      for (let count = 0; count < share; count += 1) waiting.push(until(text, signal, owner))
      const message = `Too many queries with this token wait for the rows of their receipts, ${share} may at once; repeat the request later`
      await t.rejects(until(text, signal, owner), { code: 'RECEIPT_WAITS_TOO_MANY', status: 503, message })
    }
    while (waiting.length < receiptWaitsMax) waiting.push(until(text, signal, `more ${waiting.length}`))
    const message = 'Too many queries wait for the rows of their receipts; repeat the request later'
    await t.rejects(until(text, signal, 'late'), { code: 'RECEIPT_WAITS_TOO_MANY', message })
    controller.abort(new Error('the client has left'))
    t.equal((await Promise.allSettled(waiting)).length, receiptWaitsMax)
    const again = new AbortController()
    const late = until(text, again.signal, 'one')
    again.abort(new Error('and this one'))
    await t.rejects(late, /and this one/)
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

t.test('the receipt of an import that runs as a job is for its end, however that is', async (t) => {
  for (const status of ['done', 'error', 'cancelled'] as const) {
    const { receipts, until, jobs } = await openDirectory()()
    // It makes its data source while it works.
    const text = receipts.textOfJob(jobs.set('waiting', null))
    t.match(text, /^mr1\.[\w-]{8}\.[\w-]{66}$/)
    await until(text)
    jobs.set('working', id)
    t.match(receipts.read([text]), [{ dataSourceId: id }])
    const waiting = until(text)
    await t.rejects(until(text), { code: 'RECEIPT_WAITS_TOO_MANY' })
    jobs.set('cancelling', id)
    jobs.set(status, id)
    await waiting
    t.equal(jobs.watchCount, 0, 'nobody watches it any more')
    jobs.forget()
    await until(text)
  }
})

t.test('an import that takes too long is told so, and whoever leaves ends the watch', async (t) => {
  const { receipts, until, jobs } = await openDirectory()()
  const text = receipts.textOfJob(jobs.set('working', id))
  await t.rejects(until(text), { code: 'RECEIPT_NOT_REACHED', message: /its import has not ended within 0.5 seconds/ })
  const controller = new AbortController()
  const waiting = until(text, controller.signal)
  controller.abort(new Error('the client has left'))
  await t.rejects(waiting, /the client has left/)
  t.equal(jobs.watchCount, 0)
})
