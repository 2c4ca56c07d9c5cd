import { mock } from 'node:test'
import t from 'tap'
import type { CheckedQuery } from '../../../src/schema/expressions/checked-text.types.ts'
import { CrashSuspects } from '../../../src/store/embedded/crash-suspects.ts'
import { ExchangedReads } from '../../../src/store/embedded/exchanged-reads.ts'
import { ReaderStatements } from '../../../src/store/embedded/reader-statements.ts'
import { ReaderWork } from '../../../src/store/embedded/reader-work.ts'
import type { SelectQuery } from '../../../src/store/store.types.ts'
import { StoreError } from '../../../src/store/store-error.ts'
import { checked } from '../../support/checked-text.ts'
import { HeldSessions } from '../../support/store/held-sessions.ts'

const limits = { queryTimeMaxMs: 10_000, queryMemoryBytesMax: 1_000_000, resultBytesMax: 1_000_000 }

type Watched = Pick<SelectQuery, 'threads' | 'watch'>

function createStatements() {
  const held = new HeldSessions()
  const stopped: string[] = []
  const suspects = new CrashSuspects(() => 0)
  const stops = {
    begin: (id: string) => {
      stopped.push(`stop ${id}`)
      return () => stopped.push(`${id} has ended`)
    },
  }
  const engine = { readers: held.pool, suspects, lateError: (error: StoreError) => error }
  const work = new ReaderWork(() => 0)
  const statements = new ReaderStatements(limits, { engine, stops, work, reads: new ExchangedReads(() => 0) })
  const select = (signal: AbortSignal, sql = 'SELECT 1', watched: Watched = {}): Promise<unknown> => {
    const query = { sql: checked<CheckedQuery>(sql), format: 'CSV', settings: {}, shape: 'one', signal, ...watched }
    return statements
      .lend((session) => statements.select(session, { query, id: 'select-1', path: null, isAlone: false }), {})
      .catch((thrown: unknown) => thrown)
  }
  return { statements, select, held, stopped, suspects }
}

const never = new AbortController().signal

t.test(
  'who watches a query is told when it runs, not that it waits, and that it has ended, however it did',
  async (t) => {
    const { select, held } = createStatements()
    const told: string[] = []
    const watchOf = (name: string) => ({
      begin: (threadCount: number) => told.push(`${name} begins with ${threadCount}`),
      end: (threadCount: number) => told.push(`${name} ends with ${threadCount}`),
    })
    const first = select(never, 'SELECT 1', { watch: watchOf('first'), threads: 2 })
    const second = select(never, 'SELECT 2', { watch: watchOf('second') })
    const left = new AbortController()
    const third = select(left.signal, 'SELECT 3', { watch: watchOf('third') })
    const running = await held.statement(0)
    t.same(told, ['first begins with 2'])
    running.end()
    await first
    ;(await held.statement(1)).fail(new StoreError({ kind: 'engine', message: 'too long', clickhouseCode: 159 }))
    left.abort()
    await Promise.all([second, third])
    t.same(told, ['first begins with 2', 'first ends with 2', 'second begins with 1', 'second ends with 1'])
  },
)

const syntaxError = (message: string) => new StoreError({ kind: 'engine', message, clickhouseCode: 62 })

t.test('a query that its client leaves is stopped until it has ended', async (t) => {
  const { select, held, stopped } = createStatements()
  const controller = new AbortController()
  const selected = select(controller.signal)
  const statement = await held.statement(0)
  t.match(statement.sql, /^SELECT 1\nFORMAT CSV\nSETTINGS .*log_comment = 'select-1'/)
  t.same(stopped, [])
  controller.abort()
  t.same(stopped, ['stop select-1'])
  statement.fail(new StoreError({ kind: 'engine', message: 'cancelled', clickhouseCode: 394 }))
  t.match(await selected, { message: 'cancelled' })
  t.same(stopped, ['stop select-1', 'select-1 has ended'])
})

t.test('a query that has ended is not stopped, and one whose client has left does not begin', async (t) => {
  const { select, held, stopped } = createStatements()
  const controller = new AbortController()
  const selected = select(controller.signal)
  const statement = await held.statement(0)
  statement.end('1\n')
  t.same(await selected, Buffer.from('1\n'))
  controller.abort()
  t.same(stopped, [])
  t.match(await select(controller.signal), { kind: 'aborted' })
  t.equal(held.statements.length, 1)
})

t.test('what runs when the engine ends is suspected by its shape, and what has ended is not', async (t) => {
  const { select, held, suspects } = createStatements()
  for (const end of [1, 2]) {
    const selected = select(never)
    const statement = await held.statement(end - 1)
    suspects.onEnd()
    statement.end()
    await selected
  }
  t.equal(suspects.judge('one'), 'alone')
  suspects.onEnd()
  t.equal(suspects.judge('SELECT 1'), 'free')
})

t.test('a syntax error is that of the query alone', async (t) => {
  const { select, held } = createStatements()
  const selected = select(never, 'SELECT (')
  const statement = await held.statement(0)
  statement.fail(syntaxError('Syntax error: failed at position 10 (FORMAT)'))
  const again = await held.statement(1)
  t.equal(again.sql, "SELECT formatQuerySingleLine('SELECT (') FORMAT Null")
  again.fail(syntaxError('Syntax error: failed at position 9 (end of query)'))
  t.match(await selected, { clickhouseCode: 62, message: 'Syntax error: failed at position 9 (end of query)' })
})

t.test('a tree that takes too long is told in time, and its session is lent until it has ended', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const { statements, held } = createStatements()
  const tree = statements.queryTree(checked('SELECT 1'), false, {}).catch((thrown: unknown) => thrown)
  const statement = await held.statement(0)
  t.match(statement.sql, /^EXPLAIN QUERY TREE .*\nSELECT 1\n/)
  mock.timers.tick(limits.queryTimeMaxMs + 999)
  t.equal(held.pool.lentCount, 1)
  mock.timers.tick(1)
  t.match(await tree, { clickhouseCode: 159 })
  t.equal(held.pool.lentCount, 1)
  statement.end()
  await held.pool.untilIdle()
  t.equal(held.pool.lentCount, 0)
})
