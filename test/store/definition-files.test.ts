// The engine's files of definitions: what is not whole is put back or set aside, and undoes the change that it came of.

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { DefinitionFiles } from '../../src/store/embedded/definition-files.ts'
import { isWholeDefinition } from '../../src/store/embedded/definition-text.ts'
import { StoreError } from '../../src/store/store-error.ts'
import { createTestDirectory, silentLogger } from '../support/store/test-store.ts'

const databaseUuid = '11111111-1111-4111-8111-111111111111'
const uuidOf = (digit: number): string => `${digit}0000000-0000-4000-8000-000000000000`
const definition = (digit: number, column = 'n'): string =>
  `ATTACH TABLE _ UUID '${uuidOf(digit)}'\n(\n    \`${column}\` UInt32 COMMENT 'it\\'s (',\n    \`b\` String\n)\nENGINE = MergeTree\nORDER BY tuple()\nSETTINGS index_granularity = 8192\n`

async function openFolder(t: { teardown(run: () => Promise<void>): void }) {
  const directory = await createTestDirectory()
  t.teardown(() => directory.remove())
  const engine = join(directory.path, 'clickhouse')
  const definitions = join(directory.path, 'definitions')
  const folder = join(engine, 'store', databaseUuid.slice(0, 3), databaseUuid)
  mkdirSync(folder, { recursive: true })
  mkdirSync(join(engine, 'metadata'))
  writeFileSync(join(engine, 'metadata', 'ws_0001.sql'), `ATTACH DATABASE _ UUID '${databaseUuid}'\nENGINE = Atomic\n`)
  symlinkSync(`../store/111/${databaseUuid}`, join(engine, 'metadata', 'ws_0001'))
  const dropped: string[] = []
  const files = new DefinitionFiles({ engine, definitions }, silentLogger)
  const at = (table: string): string => join(folder, `${table}.sql`)
  return {
    files,
    engine,
    folder,
    definitions,
    dropped,
    at,
    read: (table: string): string => readFileSync(at(table), 'utf8'),
    during: (sql: string, run: () => void, isPassing = false) =>
      files.during(sql, {
        isPassing,
        run: async () => run(),
        drop: async (table) => {
          dropped.push(table)
        },
      }),
  }
}

t.test('a definition is whole when it is written to its end', async (t) => {
  const whole = definition(1)
  t.ok(isWholeDefinition(whole))
  t.ok(isWholeDefinition("ATTACH MATERIALIZED VIEW _ UUID 'x' TO ws_0001.t\n(\n    `n` UInt8\n)\nAS SELECT 1 AS n\n"))
  for (const length of [0, 1, 40, 70, 90, whole.indexOf('ENGINE') - 1, whole.length - 1]) {
    t.notOk(isWholeDefinition(whole.slice(0, length)), `cut at ${length}`)
  }
  t.notOk(isWholeDefinition(whole.replace(/./gs, '\0')), 'zeroes, as a power cut leaves them')
})

t.test('a new table whose file is empty is dropped, and the change is told as one of the disk', async (t) => {
  const { during, dropped, at, definitions } = await openFolder(t)
  const change = during('CREATE TABLE IF NOT EXISTS `ws_0001`.`t_1` (n UInt32)', () => writeFileSync(at('t_1'), ''))
  await t.rejects(change, { name: 'StoreError', diskFault: 'the disk is full' })
  t.same(dropped, ['t_1'])
  t.notOk(existsSync(at('t_1')))
  t.notOk(existsSync(join(definitions, 't_1.sql')))
})

t.test(
  'a table that is dropped by another statement meanwhile stays dropped, and is no fault of the disk',
  async (t) => {
    const { during, dropped, at, definitions } = await openFolder(t)
    const create = 'CREATE MATERIALIZED VIEW `ws_0001`.`v_1` AS SELECT n FROM `ws_0001`.`t_1`'
    const failures: unknown[] = []
    const left: number[] = []
    for (let round = 0; round < 300; round += 1) {
      writeFileSync(at('t_1'), definition(1))
      mkdirSync(definitions, { recursive: true })
      writeFileSync(join(definitions, 't_1.sql'), definition(1))
      const change = during(create, () => undefined).catch((error: unknown) => failures.push(error))
      // In each round after some more steps of the look.
      for (let turn = 0; turn < round % 12; turn += 1) await new Promise(setImmediate)
      rmSync(at('t_1'), { force: true })
      await change
      if (existsSync(at('t_1'))) left.push(round)
    }
    t.same(failures, [])
    t.same(left, [])
    t.same(dropped, [])
  },
)

t.test('a table that need not outlive a power cut gets no copy, and is whole all the same', async (t) => {
  const { during, dropped, at, definitions } = await openFolder(t)
  const create = 'CREATE TABLE `ws_0001`.`p_1` CLONE AS `ws_0001`.`t_1`'
  await during(create, () => writeFileSync(at('p_1'), definition(1)), true)
  t.notOk(existsSync(join(definitions, 'p_1.sql')))
  const change = during(create, () => writeFileSync(at('p_1'), ''), true)
  await t.rejects(change, { name: 'StoreError', diskFault: 'the disk is full' })
  t.same(dropped, ['p_1'])
})

t.test(
  'a pin whose definition is broken is removed with its parts, unless they are those of another table',
  async (t) => {
    const { files, engine, at, definitions } = await openFolder(t)
    mkdirSync(join(engine, 'data', 'ws_0001'), { recursive: true })
    const gone = `p_${'1'.repeat(32)}`
    const shared = `p_${'2'.repeat(32)}_b1`
    const beside = `${gone}_target`
    const whole = `p_${'3'.repeat(32)}`
    const placeOf = (digit: number): string => join(engine, 'store', uuidOf(digit).slice(0, 3), uuidOf(digit))
    for (const [name, digit] of [
      [gone, 1],
      [shared, 2],
      [beside, 4],
    ] as const) {
      mkdirSync(placeOf(digit), { recursive: true })
      symlinkSync(`../../store/${uuidOf(digit).slice(0, 3)}/${uuidOf(digit)}`, join(engine, 'data', 'ws_0001', name))
      writeFileSync(at(name), '')
    }
    writeFileSync(at('t_1'), definition(2))
    writeFileSync(at(whole), definition(3))
    await files.mend()
    t.same(
      [gone, shared, whole, 't_1'].map((name) => existsSync(at(name))),
      [false, false, true, true],
    )
    t.notOk(existsSync(placeOf(1)))
    t.ok(existsSync(placeOf(2)))
    t.ok(existsSync(placeOf(4)), 'a table that may have been exchanged for one of a user is set aside')
    t.same(
      readdirSync(definitions).filter((name) => name.includes('damaged')),
      [`${beside}.sql.damaged`],
    )
  },
)

t.test('an alter that empties the file of its table has the one before put back', async (t) => {
  const { files, during, dropped, at, read } = await openFolder(t)
  writeFileSync(at('t_1'), definition(1))
  await files.mend()
  for (const left of ['', definition(1).slice(0, 60)]) {
    const change = during('ALTER TABLE `ws_0001`.`t_1` ADD COLUMN m UInt8', () => writeFileSync(at('t_1'), left))
    await t.rejects(change, { name: 'StoreError', diskFault: 'the disk is full' })
    t.equal(read('t_1'), definition(1))
    await files.mend()
  }
  t.same(dropped, [])
})

t.test('a change that the engine refuses keeps its error, and what it left is taken away', async (t) => {
  const { during, at } = await openFolder(t)
  const refusal = new StoreError({ kind: 'engine', message: 'no', clickhouseCode: 62 })
  const change = during('CREATE TABLE `ws_0001`.`t_1` (n UInt32)', () => {
    writeFileSync(at('t_1'), '')
    throw refusal
  })
  await t.rejects(change, refusal)
  t.notOk(existsSync(at('t_1')))
})

t.test(
  'an empty or cut definition is put back from its copy at the next start, and without one set aside',
  async (t) => {
    const { files, during, at, read, folder, definitions } = await openFolder(t)
    await files.mend()
    for (const digit of [1, 2, 3, 4]) {
      await during(`CREATE TABLE \`ws_0001\`.\`t_${digit}\` (n UInt32)`, () =>
        writeFileSync(at(`t_${digit}`), definition(digit)),
      )
    }
    writeFileSync(at('t_1'), '')
    writeFileSync(at('t_2'), definition(2).slice(0, 100))
    writeFileSync(at('t_5'), '')
    writeFileSync(at('t_3'), '')
    // A copy that has the identity of another table is none.
    writeFileSync(join(definitions, 't_3.sql'), definition(4))
    await files.mend()
    t.equal(read('t_1'), definition(1))
    t.equal(read('t_2'), definition(2))
    t.equal(read('t_4'), definition(4))
    t.same(readdirSync(folder).sort(), ['t_1.sql', 't_2.sql', 't_4.sql'])
    t.ok(existsSync(join(definitions, 't_5.sql.damaged')))
  },
)

t.test('copies follow exchanges and drops', async (t) => {
  const { files, during, at, definitions } = await openFolder(t)
  for (const digit of [1, 2]) writeFileSync(at(`t_${digit}`), definition(digit))
  await files.mend()
  await during('EXCHANGE TABLES `ws_0001`.`t_1` AND `ws_0001`.`t_2`', () => {
    writeFileSync(at('t_1'), definition(2))
    writeFileSync(at('t_2'), definition(1))
  })
  t.equal(readFileSync(join(definitions, 't_1.sql'), 'utf8'), definition(2))
  t.equal(readFileSync(join(definitions, 't_2.sql'), 'utf8'), definition(1))
})

t.test('the file of the database, and the number of a table, are made again', async (t) => {
  const { files, engine, at } = await openFolder(t)
  writeFileSync(at('t_1'), definition(1))
  const store = join(engine, 'store', uuidOf(1).slice(0, 3), uuidOf(1))
  mkdirSync(store, { recursive: true })
  writeFileSync(join(store, 'format_version.txt'), '')
  const databasePath = join(engine, 'metadata', 'ws_0001.sql')
  const before = readFileSync(databasePath, 'utf8')
  writeFileSync(databasePath, '')
  writeFileSync(join(engine, 'metadata', 'workspace.sql'), '')
  await files.mend()
  t.equal(readFileSync(databasePath, 'utf8'), before)
  t.equal(readFileSync(join(store, 'format_version.txt'), 'utf8'), '1')
  t.notOk(existsSync(join(engine, 'metadata', 'workspace.sql')), 'set aside: it has no tables')
})

t.test('a database keeps its tables when its file is gone, cut, or names a folder that is not there', async (t) => {
  const { files, engine, at, read } = await openFolder(t)
  writeFileSync(at('t_1'), definition(1))
  const file = join(engine, 'metadata', 'ws_0001.sql')
  const whole = readFileSync(file, 'utf8')
  for (const left of [
    '',
    whole.slice(0, 40),
    whole.replace('1111-4111', '1171-4111'),
    whole.replace('1111-4111', '111;-4111'),
  ]) {
    writeFileSync(file, left)
    await files.mend()
    t.equal(readFileSync(file, 'utf8'), whole)
  }
  rmSync(file)
  await files.mend()
  t.equal(readFileSync(file, 'utf8'), whole)
  t.equal(read('t_1'), definition(1))
})

t.test('a definition that is gone is put back from its copy, unless its table was dropped', async (t) => {
  const { files, engine, at, read, folder, definitions } = await openFolder(t)
  for (const digit of [1, 2, 3, 4]) {
    writeFileSync(at(`t_${digit}`), definition(digit))
    if (digit !== 3) mkdirSync(join(engine, 'store', uuidOf(digit).slice(0, 3), uuidOf(digit)), { recursive: true })
  }
  await files.mend()
  for (const digit of [1, 2, 3, 4]) rmSync(at(`t_${digit}`))
  // The second is being dropped, the rows of the third are gone, and the fourth has another name now.
  mkdirSync(join(engine, 'metadata_dropped'))
  writeFileSync(join(engine, 'metadata_dropped', `ws_0001.t_2.${uuidOf(2)}.sql`), definition(2))
  writeFileSync(at('t_5'), definition(4))
  await files.mend()
  t.equal(read('t_1'), definition(1))
  t.same(readdirSync(folder).sort(), ['t_1.sql', 't_5.sql'])
  t.same(readdirSync(definitions), ['t_5.sql'], 'a copy that was put back is made anew by the next start')
})

t.test('a close waits for the look at a change whose engine has ended', async (t) => {
  const { files, at } = await openFolder(t)
  const order: string[] = []
  let endDrop = () => {}
  let tellLook = () => {}
  const looking = new Promise<void>((resolve) => {
    tellLook = resolve
  })
  const change = files.during('CREATE TABLE `ws_0001`.`t_1` (n UInt32)', {
    run: async () => {
      writeFileSync(at('t_1'), '')
      throw new Error('the engine has ended')
    },
    drop: async () => {
      tellLook()
      await new Promise<void>((resolve) => {
        endDrop = resolve
      })
      order.push('looked')
    },
  })
  const refused = t.rejects(change, { message: 'the engine has ended' })
  await looking
  const closing = files.close().then(() => order.push('closed'))
  endDrop()
  await Promise.all([closing, refused])
  t.same(order, ['looked', 'closed'])
  t.notOk(existsSync(at('t_1')))
})
