import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import type { PartExpression } from '../../src/codec/arrow/part-expression.ts'
import { mebibyte } from '../../src/shared/bytes.ts'
import { writeEngineConfig } from '../../src/store/embedded/engine-config.ts'
import { PartFiles } from '../../src/store/embedded/part-files.ts'
import { SessionPool } from '../../src/store/embedded/session-pool.ts'
import { cleanMessage } from '../../src/store/engine-message.ts'
import { appendStatement } from '../../src/store/sql/append-statement.ts'
import { quarantineDefinition, quarantineTable } from '../../src/store/sql/quarantine-table.ts'
import { settingsText } from '../../src/store/sql/statement-settings.ts'
import { StoreError, toStoreError } from '../../src/store/store-error.ts'
import { checked } from '../support/checked-text.ts'
import { createTestDirectory, silentLogger } from '../support/store/test-store.ts'

t.test('a message of the engine loses its wrapping, our paths and our database, and keeps its name once', async (t) => {
  const cases = [
    [
      "Code: 60. DB::Exception: Unknown table expression identifier 'ws_0001.t_1' in scope SELECT * FROM ws_0001.t_1. (UNKNOWN_TABLE)",
      "Unknown table expression identifier 't_1' in scope SELECT * FROM t_1. (UNKNOWN_TABLE)",
    ],
    ['Code: 1. DB::Exception: No `ws_0001`.`t_1` here. (X_Y)', 'No `t_1` here. (X_Y)'],
    [
      'Query failed: Code: 691. DB::Exception: Code: 691. DB::Exception: Unexpected value 99 in enum. (UNKNOWN_ELEMENT_OF_ENUM) (version 26.7.2.1). (UNKNOWN_ELEMENT_OF_ENUM)',
      'Unexpected value 99 in enum. (UNKNOWN_ELEMENT_OF_ENUM)',
    ],
    [
      'Code: 376. DB::Exception: Cannot parse uuid x: (in file/uri /srv/m/parts/b-1-0.arrow): While executing File. (CANNOT_PARSE_UUID)',
      'Cannot parse uuid x: While executing File. (CANNOT_PARSE_UUID)',
    ],
    [
      'Code: 107. DB::Exception: Code: 107. DB::ErrnoException: Cannot open file /srv/m/results/select-1: , errno: 2. (FILE_DOESNT_EXIST) (version 26.7.2.1). (FILE_DOESNT_EXIST)',
      'Cannot open file a file of the service: , errno: 2. (FILE_DOESNT_EXIST)',
    ],
    [
      "Code: 47. DB::Exception: Unknown expression or function identifier `b` in scope SELECT _CAST(n_tmp_alter1759, 'UInt32') AS n, b + 1 AS n_tmp_alter1759 FROM dummy.dummy. Maybe you meant: ['a']: default expression and column type are incompatible. (UNKNOWN_IDENTIFIER)",
      "Unknown expression or function identifier `b`. Maybe you meant: ['a']: default expression and column type are incompatible. (UNKNOWN_IDENTIFIER)",
    ],
    ['something else', 'something else'],
  ] as const
  for (const [message, cleaned] of cases) t.equal(cleanMessage(message), cleaned)
})

t.test('an error of the engine keeps the outermost code and its cause, and is wrapped once', async (t) => {
  const thrown = new Error('Code: 107. DB::Exception: Code: 62. DB::Exception: x. (A_B)')
  const error = toStoreError(thrown)
  t.match(error, { kind: 'engine', clickhouseCode: 107, cause: thrown })
  t.equal(toStoreError(error), error)
  t.equal(toStoreError('no error at all').clickhouseCode, undefined)
})

t.test('names, paths and block ids are quoted in the statement of an append', async (t) => {
  const statement = appendStatement(
    {
      table: 't`1',
      layout: {
        fields: [{ name: "f'1", engineType: "Enum8('a' = 1)" }],
        targets: [{ column: 'a\\b', expression: checked<PartExpression>("`f'1`") }],
      },
      parts: [],
      rowCount: 1,
      blockId: "b'1",
    },
    "/it's/part.arrow",
  )
  t.match(statement, 'INSERT INTO `ws_0001`.`t\\`1` (`a\\\\b`)')
  t.match(statement, "FROM file('/it\\'s/part.arrow', 'ArrowStream', '`f\\'1` Enum8(\\'a\\' = 1)')")
  t.match(statement, "insert_deduplication_token = 'b\\'1'")
})

t.test('a setting must have a name of the engine', async (t) => {
  t.equal(settingsText({ a_1: 0, b: "it's" }), "a_1 = 0, b = 'it\\'s'")
  t.throws(() => settingsText({ 'a = 1, b': 0 }), { name: 'InvariantError' })
})

t.test('the quarantine has every column by name, and its own behind them', async (t) => {
  t.equal(quarantineTable('t_1'), 't_1_quarantine')
  t.match(
    quarantineDefinition([{ name: 'a`b' }, { name: 'A' }]),
    '(`a\\`b` Nullable(String), `A` Nullable(String), `c__error_column` Array(String), `c__error` Array(String), ' +
      '`c__import_id` Nullable(String), `insertion_date` DateTime)',
  )
  t.match(
    quarantineDefinition([{ name: 'insertion_date' }]),
    /\(`insertion_date` Nullable\(String\), .* `c__insertion_date` DateTime\)\nENGINE = MergeTree ORDER BY `c__insertion_date`/,
  )
  t.match(
    quarantineDefinition([{ name: 'c__insertion_date' }, { name: 'insertion_date' }]),
    /`c__c__insertion_date` DateTime/,
    'names that were there before theirs was reserved',
  )
  t.throws(() => quarantineDefinition([{ name: 'c__error' }]), { name: 'InvariantError' })
})

t.test('the configuration has the limits that were asked for, and a path in XML', async (t) => {
  const directory = await createTestDirectory()
  t.teardown(() => directory.remove())
  const path = await writeEngineConfig(join(directory.path, 'a & <b>'), {
    memoryBytesMax: 1024 * mebibyte,
    mergeThreads: 3,
    queryTimeMaxMs: 1_500,
    queryMemoryBytesMax: 7,
  })
  const engine = await readFile(path, 'utf8')
  t.match(engine, '<max_server_memory_usage>1073741824</max_server_memory_usage>')
  t.match(engine, '<background_pool_size>3</background_pool_size>')
  t.match(engine, 'a &amp; &lt;b&gt;/users.xml</path>')
  const users = await readFile(join(directory.path, 'a & <b>', 'users.xml'), 'utf8')
  t.match(users, '<max_execution_time><min>0.001</min><max>1.5</max></max_execution_time>')
  t.match(users, '<query>GRANT SELECT ON ws_*.*</query><query>GRANT SELECT ON system.one</query>')
})

t.test('files of parts have names of their own and vanish; a part that cannot be written leaves none', async (t) => {
  const directory = await createTestDirectory()
  t.teardown(() => directory.remove())
  const partFiles = new PartFiles(directory.path, silentLogger)
  const one = await partFiles.write([new Uint8Array([1])])
  const path = partFiles.newPath()
  await writeFile(path, new Uint8Array([2]))
  const again = await partFiles.write([{ path, byteCount: 1 }, new Uint8Array([3])])
  t.equal(one.path, join(directory.path, '1.arrow'))
  t.equal(again.path, join(directory.path, '{2,3}.arrow'), 'a part that is in a file already stays there')
  t.same([...(await readFile(join(directory.path, '3.arrow')))], [3])
  await again.remove()
  t.same(await readdir(directory.path), ['1.arrow'])
  await one.remove()
  await t.resolves(one.remove(), 'a file that is gone already is no failure of the append')
  t.same(await readdir(directory.path), [])
  const madeAgain = new PartFiles(join(directory.path, 'missing'), silentLogger)
  await t.resolves(madeAgain.write([new Uint8Array([1])]), 'a folder that is gone is made again')
  await writeFile(join(directory.path, 'file'), '')
  const nowhere = new PartFiles(join(directory.path, 'file'), silentLogger)
  await t.rejects(nowhere.write([new Uint8Array([1])]), /could not be written/)
})

/** Work that ends when it is told to. */
function openWork(): { readonly work: () => Promise<void>; readonly end: () => void } {
  let end = (): void => undefined
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  return { work: () => ended, end }
}

t.test('statements get sessions in the order in which they came, each one at a time', async (t) => {
  const pool = new SessionPool({ purpose: 'test', sessions: ['x'], waitingMax: 3 })
  const order: number[] = []
  const first = openWork()
  const running = pool.use(first.work)
  const waiting = [1, 2, 3].map((index) =>
    pool.use(async () => {
      t.equal(pool.lentCount, 1)
      order.push(index)
    }),
  )
  t.equal(pool.waitingCount, 3)
  await t.rejects(pool.use(first.work), /Too many statements wait/, 'one more than may wait')
  first.end()
  await Promise.all([running, ...waiting])
  t.same(order, [1, 2, 3])
  t.equal(pool.lentCount, 0)
})

t.test('a session comes back from work that fails, and a waiter that leaves keeps its place from nobody', async (t) => {
  const pool = new SessionPool({ purpose: 'test', sessions: ['x'], waitingMax: 2 })
  await t.rejects(
    pool.use(async () => {
      throw new Error('no')
    }),
    /no/,
  )
  const first = openWork()
  const running = pool.use(first.work)
  const leaver = new AbortController()
  const leaving = pool.use(async () => 'left', { signal: leaver.signal })
  const staying = pool.use(async (session) => session)
  leaver.abort()
  await t.rejects(leaving, /was stopped/)
  first.end()
  await running
  t.equal(await staying, 'x')
  await t.rejects(
    pool.use(async () => 'x', { signal: AbortSignal.abort() }),
    /was stopped/,
  )
})

t.test('a pool that closes refuses the line at once and waits for what runs', async (t) => {
  const pool = new SessionPool({ purpose: 'test', sessions: ['x'], waitingMax: 2 })
  const first = openWork()
  const running = pool.use(first.work)
  const waiting = pool.use(async () => undefined)
  const refused = t.rejects(waiting, new StoreError({ kind: 'closed', message: 'The store is closed' }))
  let isClosed = false
  const closing = pool.close().then(() => {
    isClosed = true
  })
  await refused
  t.notOk(isClosed)
  first.end()
  await Promise.all([running, closing])
  await t.rejects(
    pool.use(async () => undefined),
    /store is closed/,
  )
  await pool.close()
})

t.test('a pause begins when what runs has ended or taken too long, and lets nothing begin', async (t) => {
  const pool = new SessionPool({ purpose: 'test', sessions: ['x', 'y'], waitingMax: 2 })
  const order: string[] = []
  const first = openWork()
  const running = pool.use(first.work).then(() => order.push('ran'))
  const paused = pool.whilePaused(60_000, async () => {
    order.push('paused')
    t.equal(pool.lentCount, 0)
  })
  const waiting = pool.use(async () => order.push('waited'))
  t.equal(pool.waitingCount, 1, 'though a session is free')
  first.end()
  await Promise.all([running, paused, waiting])
  t.same(order, ['ran', 'paused', 'waited'])
  const long = openWork()
  const late = pool.use(long.work)
  t.equal(await pool.whilePaused(1, async () => pool.lentCount), 1)
  await t.rejects(
    pool.whilePaused(1, () => Promise.reject(new Error('failed'))),
    /failed/,
  )
  t.equal(await pool.use(async (session) => session), 'x', 'it goes on behind a pause that failed')
  long.end()
  await late
})
