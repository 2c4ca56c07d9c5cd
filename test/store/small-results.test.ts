import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import type { CheckedQuery } from '../../src/schema/expressions/checked-text.types.ts'
import { openEmbeddedStore } from '../../src/store/embedded/embedded-store.ts'
import { checked } from '../support/checked-text.ts'
import { SeededRandom, testSeed } from '../support/seeded-random.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from '../support/store/test-store.ts'

const directory = await createTestDirectory()
const store = await openEmbeddedStore(testStoreOptions(directory.path), silentLogger)
t.teardown(async () => {
  await store.close()
  await directory.remove()
})

/** The bytes of a query; `shape` lets it stay in memory. */
async function select(sql: string, { format = 'CSV', shape = '', signal = new AbortController().signal } = {}) {
  const chunks: Uint8Array[] = []
  const query = { sql: checked<CheckedQuery>(sql), format, settings: {}, signal, ...(shape === '' ? {} : { shape }) }
  for await (const chunk of await store.select(query)) chunks.push(chunk)
  return Buffer.concat(chunks)
}

async function failure(promise: Promise<unknown>): Promise<unknown> {
  return await promise.then(
    () => null,
    (thrown: unknown) => thrown,
  )
}

t.test('a result is the same from memory and through a file, in every format and around the limits', async (t) => {
  for (const rows of [0, 1, 999, 1_000, 1_001, 5_000]) {
    const sql = `SELECT number, 'a\\0b' AS s, number / 3 AS v FROM numbers(${rows})`
    for (const format of ['CSV', 'Native', 'ArrowStream', 'RowBinary']) {
      const inMemory = await select(sql, { format, shape: `${rows} ${format}` })
      t.ok(inMemory.equals(await select(sql, { format })), `${rows} rows as ${format}`)
      t.ok(inMemory.equals(await select(sql, { format, shape: `${rows} ${format}` })), 'and once more')
    }
  }
  const wide = "SELECT repeat('x', 1000) AS s FROM numbers(900)"
  t.equal((await select(wide, { shape: wide })).length, 900 * 1_003)
  t.strictSame(await readdir(join(directory.path, 'results')), [])
})

t.test('results in memory that nobody reads are bounded, but for small ones', async (t) => {
  const { openResultsMax } = testStoreOptions('')
  const wide = "SELECT repeat('x', 300) AS s FROM numbers(210)"
  const small = "SELECT repeat('x', 300) AS s FROM numbers(100)"
  const controllers = Array.from({ length: openResultsMax }, () => new AbortController())
  const held = await Promise.all(
    controllers.map(({ signal }) =>
      store.select({ sql: checked(wide), format: 'JSON', settings: {}, shape: 'wide', signal }),
    ),
  )
  t.ok(held.every(({ whole }) => whole === undefined))
  t.match(await failure(select(small, { shape: 'small' })), { kind: 'unread' })
  const [first, second, third] = held.map((stream) => stream[Symbol.asyncIterator]())
  t.match(await first?.next(), { done: false })
  t.match(await failure(select(small, { shape: 'small' })), { kind: 'unread' }, 'it may still be on its way')
  t.match(await first?.next(), { done: true })
  t.equal((await select(small, { shape: 'small' })).length, 30_300)
  controllers[1]?.abort()
  t.match(await failure(Promise.resolve(second?.next())), { kind: 'aborted' })
  await third?.return?.()
  for (const controller of controllers.slice(3)) controller.abort()
  const smalls = await Promise.all(
    Array.from({ length: openResultsMax + 1 }, () =>
      store.select({
        sql: checked(small),
        format: 'CSV',
        settings: {},
        shape: 'small',
        signal: new AbortController().signal,
      }),
    ),
  )
  t.ok(smalls.every(({ whole }) => whole?.length === 30_300))
})

t.test('the bytes of results that nobody reads are bounded in sum, with a clear refusal', async (t) => {
  const { heldResultBytesMax } = testStoreOptions('')
  // To the engine a constant is there once; as JSON it is written 200 times, six characters for each byte.
  const sql = "SELECT repeat('\\x01', 6000) AS s FROM numbers(200)"
  const controllers: AbortController[] = []
  let refusal: unknown = null
  let bytes = 0
  while (refusal === null && controllers.length < 4) {
    const controller = new AbortController()
    const query = {
      sql: checked<CheckedQuery>(sql),
      format: 'JSON',
      settings: {},
      shape: `constant ${controllers.length}`,
      signal: controller.signal,
    }
    refusal = await store.select(query).then(
      () => null,
      (thrown: unknown) => thrown,
    )
    if (refusal === null) bytes += 7_200_000
    controllers.push(controller)
  }
  t.match(refusal, { kind: 'unread', message: /answers of \d+ bytes in memory wait for their clients/ })
  t.ok(bytes <= heldResultBytesMax, `${bytes} bytes are held`)
  for (const controller of controllers) controller.abort()
  const [first] = await Promise.all([select(sql, { format: 'JSON', shape: 'constant 9' })])
  t.ok(first.length > 7_200_000, 'there is room again when they are gone')
})

t.test('a result with long constants is never made in memory, the first one of its shape neither', async (t) => {
  const { heldResultBytesMax } = testStoreOptions('')
  const sql = "SELECT repeat('\\x01', 6000) AS s FROM numbers(200)"
  const controllers = Array.from({ length: 3 }, () => new AbortController())
  // The same in memory is refused at the third.
  const held = await Promise.all(
    controllers.map(({ signal }, index) =>
      store.select({
        sql: checked(sql),
        format: 'JSON',
        settings: {},
        shape: `long ${index}`,
        hasLongConstants: true,
        signal,
      }),
    ),
  )
  t.ok(held.length * 7_200_000 > heldResultBytesMax, 'more than the memory has room for')
  t.ok(held.every(({ whole }) => whole === undefined))
  await Promise.all(held.map((stream) => stream[Symbol.asyncIterator]().return?.()))
})

/** Without the time that the query took. */
function timeless(json: unknown): string {
  return String(json).replace(/"elapsed": [\d.e-]+/, '"elapsed": 0')
}

t.test('a result whose bytes are many goes through a file from then on', async (t) => {
  const sql = "SELECT repeat('\\x01', 6000) AS s FROM numbers(200)"
  const first = await select(sql, { format: 'JSON', shape: 'learned' })
  const controllers = Array.from({ length: 3 }, () => new AbortController())
  const held = await Promise.all(
    controllers.map(({ signal }) =>
      store.select({ sql: checked(sql), format: 'JSON', settings: {}, shape: 'learned', signal }),
    ),
  )
  t.equal(held.length, 3, 'more than the memory has room for, as they are on disk')
  for (const controller of controllers) controller.abort()
  t.equal(timeless(await select(sql, { format: 'JSON', shape: 'learned' })), timeless(first))
})

t.test('what a failed query had written never comes out with another one', async (t) => {
  const seed = testSeed()
  t.comment(`SEED=${seed}`)
  const random = new SeededRandom(seed)
  const failing = 'SELECT number FROM numbers(900) WHERE throwIf(number = 700) = 0 SETTINGS max_block_size = 10'
  const slow = 'SELECT number, sleepEachRow(0.01) FROM numbers(900) SETTINGS max_block_size = 2'
  const ask = async (index: number): Promise<string> => {
    const draw = random.fraction()
    if (draw < 0.2)
      return await select(failing, { shape: 'failing' }).then(
        () => 'answered',
        () => 'failed',
      )
    if (draw < 0.3) {
      const controller = new AbortController()
      const stopped = select(slow, { shape: 'slow', signal: controller.signal })
      setTimeout(() => controller.abort(), 30)
      return await stopped.then(
        () => 'answered',
        () => 'failed',
      )
    }
    const answer = await select(`SELECT ${index} AS n`, draw < 0.8 ? { shape: 'one' } : {})
    return answer.toString() === `${index}\n` ? 'right' : `wrong: ${answer.toString().slice(0, 40)}`
  }
  const outcomes: string[] = []
  for (let round = 0; round < 60; round += 1) {
    outcomes.push(...(await Promise.all([0, 1, 2, 3].map((index) => ask(round * 4 + index)))))
  }
  t.strictSame([...new Set(outcomes)].sort(), ['failed', 'right'])
})

t.test('what a failed statement of our own had written never comes out with another one', async (t) => {
  const failing = 'SELECT number FROM numbers(900) WHERE throwIf(number = 700) = 0 SETTINGS max_block_size = 10'
  await t.rejects(store.rows(failing))
  for (let count = 0; count < 3; count += 1) t.strictSame(await store.rows('SELECT 1 AS a'), [{ a: 1 }])
})
