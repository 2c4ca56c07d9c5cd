import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { mebibyte } from '../../src/shared/bytes.ts'
import { openEmbeddedStore } from '../../src/store/embedded/embedded-store.ts'
import { ResultBudget } from '../../src/store/embedded/result-budget.ts'
import { checked } from '../support/checked-text.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from '../support/store/test-store.ts'

t.test('results have room up to the limit, and a single one has room in any case', async (t) => {
  const budget = new ResultBudget(100)
  const first = budget.open()
  first.growTo(60)
  first.growTo(50)
  t.equal(budget.usedBytes, 60, 'what is read is not given back before the end')
  const second = budget.open()
  second.growTo(39)
  second.growTo(40)
  t.equal(budget.usedBytes, 100)
  t.throws(() => second.growTo(41), { kind: 'unread', message: /take 60 of 100 bytes on disk$/ })
  t.equal(budget.usedBytes, 100, 'what is refused is not counted')
  const third = budget.open()
  third.growTo(0)
  t.throws(() => third.growTo(1), { kind: 'unread', message: /bytes on disk/ })
  first.release()
  first.release()
  first.growTo(1_000)
  t.equal(budget.usedBytes, 40)
  third.growTo(60)
  third.release()
  second.growTo(1_000)
  t.equal(budget.usedBytes, 1_000, 'the only one')
  t.throws(() => budget.open().growTo(1), { kind: 'unread', message: /bytes on disk/ })
  second.release()
  t.equal(budget.usedBytes, 0)
})

const directory = await createTestDirectory()
const options = { ...testStoreOptions(directory.path), resultFilesBytesMax: 16 * mebibyte }
const store = await openEmbeddedStore(options, silentLogger)
t.teardown(async () => {
  await store.close()
  await directory.remove()
})

/** 1,001 bytes a row. */
function sqlOf(rowCount: number, more = ''): string {
  return `SELECT repeat('x', 1000)${more} FROM numbers(${rowCount})`
}

function open(sql: string, signal = new AbortController().signal) {
  return store.select({ sql: checked(sql), format: 'TSV', settings: {}, signal })
}

async function byteCountOf(stream: AsyncIterable<Uint8Array>): Promise<number> {
  let byteCount = 0
  for await (const chunk of stream) byteCount += chunk.byteLength
  return byteCount
}

async function refusal(promise: Promise<unknown>): Promise<unknown> {
  return await promise.then(
    () => null,
    (thrown: unknown) => thrown,
  )
}

t.test('results on disk that nobody reads are bounded by their bytes, whatever their number', async (t) => {
  const controller = new AbortController()
  const large = await open(sqlOf(20_000), controller.signal)
  t.match(await refusal(open(sqlOf(1_000))), { kind: 'unread', message: /take 20020000 of 16777216 bytes on disk/ })
  const small = await store.select({
    sql: checked(sqlOf(10)),
    format: 'TSV',
    settings: {},
    shape: 's',
    signal: new AbortController().signal,
  })
  t.equal(await byteCountOf(small), 10_010, 'one in memory needs no room on disk')
  t.strictSame(await readdir(join(directory.path, 'results')), [], 'a refused one leaves no file')
  t.equal(await byteCountOf(large), 20_020_000)
  const next = await open(sqlOf(8_000), controller.signal)
  const beside = await open(sqlOf(8_000), controller.signal)
  t.match(await refusal(open(sqlOf(8_000))), { kind: 'unread', message: /bytes on disk/ })
  await next[Symbol.asyncIterator]().return?.()
  const again = await open(sqlOf(8_000), controller.signal)
  t.match(await refusal(open(sqlOf(8_000))), { kind: 'unread', message: /bytes on disk/ })
  controller.abort()
  for (const left of [beside, again]) t.match(await refusal(byteCountOf(left)), { kind: 'aborted' })
  t.equal(await byteCountOf(await open(sqlOf(16_000))), 16_016_000, 'all of it is free again')
})

/** 5 MB a second, for as long as a query may take. */
const endless = `${sqlOf(100_000, ', sleepEachRow(0.0002)')} SETTINGS max_block_size = 500`

async function bytesIn(folder: string): Promise<number> {
  const names = await readdir(folder)
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(folder, name))).size))
  return sizes.reduce((sum, size) => sum + size, 0)
}

t.test('what is being written counts, and one that fails or is left gives back its room', async (t) => {
  const results = join(directory.path, 'results')
  const controller = new AbortController()
  const writing = refusal(open(endless, controller.signal))
  while ((await bytesIn(results)) < 6_000_000) await new Promise(setImmediate)
  // Files are looked at now and then: the one that comes is refused, or the one whose bytes were not seen before it came.
  const [beside] = await Promise.allSettled([open(sqlOf(12_000))])
  const isBesideRefused = beside.status === 'rejected'
  t.match(isBesideRefused ? beside.reason : await writing, { kind: 'unread' })
  if (!isBesideRefused) await beside.value[Symbol.asyncIterator]().return?.()
  controller.abort()
  t.match(await writing, { kind: isBesideRefused ? 'aborted' : 'unread' })
  await t.rejects(open(sqlOf(15_000, ', throwIf(number = 14_999)')))
  while ((await readdir(results)).length > 0) await new Promise(setImmediate)
  const both = await Promise.all([open(sqlOf(8_000)), open(sqlOf(8_000))])
  t.strictSame(await Promise.all(both.map(byteCountOf)), [8_008_000, 8_008_000])
})
