// A process of its own for the tests of locks, kills and exits. The first argument is the data directory, the second
// what to do there.

import process from 'node:process'
import { Int32 } from 'apache-arrow'
import type { PartExpression } from '../../../src/codec/arrow/part-expression.ts'
import { openEmbeddedStore } from '../../../src/store/embedded/embedded-store.ts'
import { checked } from '../checked-text.ts'
import { arrowPart, numbers } from './arrow-part.ts'
import { silentLogger, testStoreOptions } from './test-store.ts'

const [, , dataDirectory = '', task = ''] = process.argv

try {
  const store = await openEmbeddedStore(testStoreOptions(dataDirectory), silentLogger)
  if (task === 'zone') {
    const [row] = await store.rows<{ zone: string }>('SELECT serverTimezone() AS zone')
    process.stdout.write(`${row?.zone}\n`)
  }
  if (task === 'append' || task === 'append-again') {
    await store.command(
      `CREATE TABLE IF NOT EXISTS ws_0001.killed (a Int32) ENGINE = MergeTree PARTITION BY intDiv(a, 3) ORDER BY a
       SETTINGS non_replicated_deduplication_window = 100`,
    )
    await store.command(
      `CREATE TABLE IF NOT EXISTS ws_0001.killed_sums (a Int32) ENGINE = SummingMergeTree ORDER BY tuple()
       SETTINGS non_replicated_deduplication_window = 100`,
    )
    await store.command(
      'CREATE MATERIALIZED VIEW IF NOT EXISTS ws_0001.killed_view TO ws_0001.killed_sums AS SELECT sum(a)::Int32 AS a FROM ws_0001.killed',
    )
    const part = arrowPart([{ name: 'a', data: numbers(new Int32(), new Int32Array([1, 2, 3])) }])
    const layout = {
      fields: [{ name: 'a', engineType: 'Int32' }],
      targets: [{ column: 'a', expression: checked<PartExpression>('a') }],
    }
    await store.append({ table: 'killed', layout, parts: [part], rowCount: 3, blockId: 'block-1' })
    const [row] = await store.rows<{ counts: string }>(
      `SELECT concat(toString((SELECT count() FROM ws_0001.killed)), ' rows, sum ',
                     toString((SELECT sum(a) FROM ws_0001.killed_sums))) AS counts`,
    )
    await store.sync()
    process.stdout.write(`appended: ${row?.counts}\n`)
  }
  if (task === 'append') {
    // Stays until it is killed.
    setInterval(() => undefined, 1_000)
  } else {
    await store.close()
    process.stdout.write('closed\n')
  }
} catch (err) {
  process.stdout.write(`refused: ${err instanceof Error ? err.message : String(err)}\n`)
}
