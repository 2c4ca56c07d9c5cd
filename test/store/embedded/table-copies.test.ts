import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { ExchangedReads } from '../../../src/store/embedded/exchanged-reads.ts'
import { OrphanRepairs } from '../../../src/store/embedded/orphan-repairs.ts'
import { TableCopies } from '../../../src/store/embedded/table-copies.ts'
import { HeldSessions } from '../../support/store/held-sessions.ts'
import { silentLogger } from '../../support/store/test-store.ts'

const exchangeOfA = 'EXCHANGE TABLES `ws_0001`.`a` AND `ws_0001`.`b`'

function createCopies() {
  const copiers = new HeldSessions()
  const readers = new HeldSessions()
  const control = new HeldSessions(2)
  const statements = {
    definitionVersion: 0,
    command: async (sql: string): Promise<void> => {
      await control.pool.use((session) => session.run(sql))
    },
    rows: async () => [],
  }
  const pools = { readers: readers.pool, writers: new HeldSessions().pool, logger: silentLogger, insertTimeMaxMs: 1 }
  const copies = new TableCopies(
    { queryMemoryBytesMax: 1_000_000, copyPartitionsMax: 10 },
    {
      engine: { copiers: copiers.pool, readers: readers.pool },
      statements,
      repairs: new OrphanRepairs(statements, pools),
      reads: new ExchangedReads(() => 0),
    },
  )
  return { copies, copiers, readers, control }
}

t.test('copies run one after the other, and beside readers', async (t) => {
  const { copies, copiers, readers } = createCopies()
  const reading = readers.pool.use((session) => session.run('SELECT 1'))
  const first = copies.copy({ table: 'b', from: 'a', columns: [{ name: 'c' }] })
  const second = copies.copy({ table: 'd', from: 'a', columns: [{ name: 'c', from: 'e' }] })
  const statement = await copiers.statement(0)
  t.match(statement.sql, /^INSERT INTO `ws_0001`.`b` \(`c`\)\n/)
  t.equal(copiers.pool.waitingCount, 1)
  statement.end()
  await first
  const next = await copiers.statement(1)
  t.match(next.sql, /^INSERT INTO `ws_0001`.`d` \(`c`\)\n.*`e` AS `c`/)
  next.end()
  await second
  ;(await readers.statement(0)).end()
  await reading
})

t.test('while the engine is mended only its copies run', async (t) => {
  const { copies, copiers } = createCopies()
  const resume = copiers.pool.pause()
  const waiting = copies.copy({ table: 'late', from: 'a', columns: [{ name: 'c' }] })
  const mending = copies.copyWhilePaused({ table: 'mended', from: 'a', columns: [{ name: 'c' }] })
  const first = await copiers.statement(0)
  t.match(first.sql, /`mended`/)
  first.end()
  await mending
  t.equal(copiers.statements.length, 1)
  resume()
  const second = await copiers.statement(1)
  t.match(second.sql, /`late`/)
  second.end()
  await waiting
})

t.test('tables are exchanged when the queries that run have ended, before the next one begins', async (t) => {
  const { copies, readers, control } = createCopies()
  const running = readers.pool.use((session) => session.run('SELECT 1'))
  const exchanged = copies.exchange([['a', 'b']])
  const later = readers.pool.use((session) => session.run('SELECT 2'))
  await setImmediate()
  t.same(control.texts, [])
  ;(await readers.statement(0)).end()
  await running
  const exchange = await control.statement(0)
  t.equal(exchange.sql, exchangeOfA)
  t.same(readers.texts, ['SELECT 1'])
  exchange.end()
  await exchanged
  ;(await readers.statement(1)).end()
  await later
  t.same(readers.texts, ['SELECT 1', 'SELECT 2'])
})

t.test('two exchanges run one after the other, also where the first one fails', async (t) => {
  const { copies, control } = createCopies()
  const first = copies.exchange([['a', 'b']]).catch((thrown: unknown) => thrown)
  const second = copies.exchange([
    ['c', 'd'],
    ['e', 'f'],
  ])
  const statement = await control.statement(0)
  await setImmediate()
  t.same(control.texts, [exchangeOfA])
  statement.fail(new Error('no such table'))
  t.match(await first, { message: 'no such table' })
  const next = await control.statement(1)
  t.match(next.sql, /`c` AND `ws_0001`.`d`, `ws_0001`.`e` AND/)
  next.end()
  await second
})
