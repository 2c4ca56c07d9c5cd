import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Int32, makeData } from 'apache-arrow'
import t from 'tap'
import type { PartExpression } from '../../src/codec/arrow/part-expression.ts'
import { openEmbeddedStore } from '../../src/store/embedded/embedded-store.ts'
import { TestLog } from '../support/api/test-service.ts'
import { checked } from '../support/checked-text.ts'
import { arrowPart } from '../support/store/arrow-part.ts'
import { createTestDirectory, testStoreOptions } from '../support/store/test-store.ts'

const directory = await createTestDirectory()
const log = new TestLog()
const store = await openEmbeddedStore(testStoreOptions(directory.path), log)
t.teardown(async () => {
  await store.close()
  await directory.remove()
})

async function select(sql: string): Promise<string> {
  const answer = await store.select({
    sql: checked(sql),
    format: 'TSV',
    settings: {},
    signal: new AbortController().signal,
  })
  const chunks: Uint8Array[] = []
  for await (const chunk of answer) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

t.test('a block whose part could not be put in its place is stored by its retry, behind a view too', async (t) => {
  const window = 'SETTINGS non_replicated_deduplication_window = 100'
  for (const table of ['t_landing', 't_behind']) {
    await store.command(`CREATE TABLE ws_0001.${table} (c Int32) ENGINE = MergeTree ORDER BY c ${window}`)
  }
  await store.command('CREATE MATERIALIZED VIEW ws_0001.t_feed TO ws_0001.t_behind AS SELECT c FROM ws_0001.t_landing')
  const block = (n: number) => {
    const data = makeData({ type: new Int32(), length: 2, nullCount: 0, data: new Int32Array([n, n]) })
    const layout = {
      fields: [{ name: 'c', engineType: 'Int32' }],
      targets: [{ column: 'c', expression: checked<PartExpression>('c') }],
    }
    const parts = [arrowPart([{ name: 'c', data }])]
    return { table: 't_landing', layout, parts, rowCount: 2, blockId: `landing-${n}` }
  }
  await store.append(block(1))
  for (const [n, table] of [
    [2, 't_landing'],
    [3, 't_behind'],
  ] as const) {
    const [place] = await store.rows<{ path: string; part: number }>(
      `SELECT data_paths[1] AS path,
         (SELECT toUInt32(max(max_block_number)) FROM system.parts WHERE table = '${table}') AS part
       FROM system.tables WHERE name = '${table}'`,
    )
    // The engine writes the record of the block, and then finds a file where the part's directory is to be.
    const numbers = Array.from({ length: 3 }, (_, ahead) => (place?.part ?? 0) + 1 + ahead)
    const obstacles = numbers.map((part) => join(place?.path ?? '', `all_${part}_${part}_0`))
    for (const obstacle of obstacles) await writeFile(obstacle, '')
    const reader = select('SELECT count() FROM ws_0001.t_behind WHERE sleepEachRow(0.2) = 0')
    // By the time that the engine is asked for the tables again the disk is well.
    const rows = store.rows.bind(store)
    store.rows = async <Row>(sql: string): Promise<readonly Row[]> => {
      for (const obstacle of obstacles) await rm(obstacle, { force: true })
      return await rows<Row>(sql)
    }
    await t.rejects(store.append(block(n)), { name: 'StoreError', kind: 'engine' }, table)
    store.rows = rows
    t.ok(log.entries.some(({ fields }) => fields['table'] === table && fields['orphanCount'] === 1))
    await Promise.all([store.append(block(n)), store.append(block(n)), reader])
    for (const name of ['t_landing', 't_behind']) {
      t.equal(
        await select(`SELECT count(), uniqExact(c) FROM ws_0001.${name}`),
        `${2 * n}\t${n}\n`,
        `${table}, ${name}`,
      )
    }
  }
})
