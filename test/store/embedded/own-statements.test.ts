import { mock } from 'node:test'
import t from 'tap'
import { OwnStatements } from '../../../src/store/embedded/own-statements.ts'
import type { CommandNature } from '../../../src/store/statements.types.ts'
import { StoreError, stoppedError } from '../../../src/store/store-error.ts'
import { HeldSessions } from '../../support/store/held-sessions.ts'
import { silentLogger } from '../../support/store/test-store.ts'

function createStatements() {
  const control = new HeldSessions()
  const workers = new HeldSessions()
  const definers = new HeldSessions()
  const changes: string[] = []
  const statements = new OwnStatements(
    {},
    {
      engine: {
        control: control.pool,
        workers: workers.pool,
        definers: definers.pool,
        lateError: (error) => error,
      },
      definitions: {
        during: async (sql, { run }) => {
          changes.push(sql)
          await run()
        },
      },
      logger: silentLogger,
    },
  )
  return { statements, control, workers, definers, changes }
}

const caught = (promise: Promise<unknown>): Promise<unknown> => promise.catch((thrown: unknown) => thrown)

t.test('short statements, long ones, and those that compute have sessions of their own', async (t) => {
  const { statements, control, workers, definers } = createStatements()
  const ended = Promise.all([
    statements.command('TRUNCATE TABLE a'),
    statements.command('OPTIMIZE TABLE a FINAL', { isLong: true }),
    statements.command('ALTER TABLE a ADD COLUMN b String DEFAULT f()', { computes: true }),
  ])
  for (const held of [control, workers, definers]) (await held.statement(0)).end()
  await ended
  t.same(control.texts, ['TRUNCATE TABLE a'])
  t.same(workers.texts, ['OPTIMIZE TABLE a FINAL'])
  t.same(definers.texts, ['ALTER TABLE a ADD COLUMN b String DEFAULT f()'])
})

t.test('the number of the definitions is another one after whatever may change one, failed or not', async (t) => {
  const { statements, control, changes } = createStatements()
  const run = async (sql: string, failure?: StoreError, nature: CommandNature = {}): Promise<number> => {
    const before = statements.definitionVersion
    const index = control.statements.length
    const ended = caught(statements.command(sql, nature))
    const statement = await control.statement(index)
    if (failure === undefined) statement.end()
    else statement.fail(failure)
    await ended
    return statements.definitionVersion - before
  }
  for (const sql of [
    'CREATE VIEW a AS SELECT 1',
    'ALTER TABLE a DROP COLUMN b',
    ' drop TABLE a',
    'EXCHANGE TABLES a AND b',
  ])
    t.equal(await run(sql), 1, sql)
  t.equal(await run('RENAME TABLE a TO b', new StoreError({ kind: 'engine', message: 'x', clickhouseCode: 60 })), 1)
  t.equal(changes.length, 5)
  for (const sql of [
    ...['INSERT INTO a SELECT 1', 'TRUNCATE TABLE a', 'OPTIMIZE TABLE a', 'SYSTEM SYNC FILE CACHE'],
    'ALTER TABLE `w`.`a` ATTACH PARTITION ALL FROM `w`.`b`',
  ])
    t.equal(await run(sql), 0, sql)
  t.equal(changes.length, 5)
  t.equal(await run('CREATE TABLE p AS a', undefined, { isAside: true }), 0, 'a pin')
  t.equal(changes.length, 6, 'whose file is looked after')
  const before = statements.definitionVersion
  statements.onRestart()
  t.equal(statements.definitionVersion, before + 1, 'the engine ended in the middle of anything')
})

t.test('what does no more when it is repeated is repeated once where the engine ends', async (t) => {
  for (const sql of ['DROP TABLE IF EXISTS a', 'CREATE MATERIALIZED VIEW IF NOT EXISTS a AS SELECT 1']) {
    const { statements, control } = createStatements()
    const ended = caught(statements.command(sql))
    ;(await control.statement(0)).fail(stoppedError())
    ;(await control.statement(1)).end()
    t.equal(await ended, undefined, sql)
    const again = caught(statements.command(sql))
    ;(await control.statement(2)).fail(stoppedError())
    ;(await control.statement(3)).fail(stoppedError())
    t.match(await again, { kind: 'stopped' }, sql)
  }
  for (const sql of ['ALTER TABLE a DROP COLUMN b', 'CREATE TABLE a (b UInt8) ENGINE = Null', 'TRUNCATE TABLE a']) {
    const { statements, control } = createStatements()
    const ended = caught(statements.command(sql))
    ;(await control.statement(0)).fail(stoppedError())
    t.match(await ended, { kind: 'stopped' }, sql)
    t.equal(control.statements.length, 1)
  }
})

t.test('rows are read as objects, once more where the engine ends', async (t) => {
  const { statements, control } = createStatements()
  const rows = statements.rows('SELECT a FROM b')
  ;(await control.statement(0)).fail(stoppedError())
  const statement = await control.statement(1)
  t.equal(statement.sql, 'SELECT a FROM b\nFORMAT JSONEachRow')
  statement.end('{"a":1}\n{"a":2}\n')
  t.same(await rows, [{ a: 1 }, { a: 2 }])
})

t.test(
  'a look that the engine does not answer within a minute ends, but one that goes through rows may take long',
  async (t) => {
    mock.timers.enable({ apis: ['setTimeout'] })
    t.teardown(() => mock.timers.reset())
    const { statements, control, workers } = createStatements()
    const look = caught(statements.rows('SELECT 1'))
    const long = caught(statements.rows('SELECT 2', { isLong: true }))
    await control.statement(0)
    const last = await workers.statement(0)
    mock.timers.tick(60_000)
    t.match(await look, { kind: 'silent', message: /did not answer the service within 60 s/ })
    last.end('{"a":2}\n')
    t.same(await long, [{ a: 2 }])
  },
)

t.test('a table that is made too late is dropped, and other statements on it are refused until then', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const { statements, control, definers } = createStatements()
  const create = 'CREATE TABLE IF NOT EXISTS `ws_0001`.`a` (b UInt8 DEFAULT f()) ENGINE = Null'
  const created = caught(statements.command(create, { computes: true }))
  const statement = await definers.statement(0)
  mock.timers.tick(10_000)
  t.match(await created, { kind: 'late' })
  t.match(await caught(statements.command('ALTER TABLE `ws_0001`.`a` DROP COLUMN b')), { kind: 'busy' })
  t.equal(control.statements.length, 0)
  statement.end()
  const drop = await control.statement(0)
  t.equal(drop.sql, 'DROP TABLE IF EXISTS `ws_0001`.`a`')
  const { definitionVersion } = statements
  drop.end()
  await control.pool.use(async () => undefined)
  t.equal(statements.definitionVersion, definitionVersion + 1, 'what was read meanwhile may know the table')
})
