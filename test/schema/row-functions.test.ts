// What is said of functions over one row, and of the engine's own columns, is held to the engine's lists.

import t from 'tap'
import { isStoredFunction } from '../../src/schema/expressions/stored-expression.ts'
import { rowChangingFunctions } from '../../src/schema/functions/row-count.ts'
import { partColumns } from '../../src/schema/syntax/engine-columns.ts'
import { isFickleFunction, timeFunctions } from '../../src/sql/fickle-functions.ts'
import { openEmbeddedStore } from '../../src/store/embedded/embedded-store.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from '../support/store/test-store.ts'

const directory = await createTestDirectory()
const store = await openEmbeddedStore(testStoreOptions(directory.path), silentLogger)
t.teardown(async () => {
  await store.close()
  await directory.remove()
})

t.test('what makes other rows of one is refused under all its names', async (t) => {
  const names = await store.rows<{ readonly name: string }>(
    "SELECT lower(name) AS name FROM system.functions WHERE 'arrayjoin' IN (lower(name), lower(alias_to)) ORDER BY name",
  )
  t.same(
    names.map(({ name }) => name),
    [...rowChangingFunctions].sort(),
  )
})

// The engine says of these that they may give another value: of a constant of the process, or by mistake.
const steady: readonly string[] = [
  'chdb',
  'financialnetpresentvalueextended',
  'servertimezone',
  'timezone',
  ...rowChangingFunctions,
  ...timeFunctions,
]

// Said to be deterministic by the engine, with names that sound otherwise: looked at one by one.
const soundsFickle =
  /rand|shuffle|sample|generate|fuzz|now(?!flake)|today(?!s|of)|yesterday|(?<!by)number|running|neighbor(?!s)|block|serial|obfuscate|^timeseries|hint|partialsort/
const lookedAt = `arraypartialreversesort arraypartialsort fuzzbits mappartialsort minsamplesizecontinous
  minsamplesizecontinuous minsamplesizeconversion multifuzzymatchallindices multifuzzymatchany multifuzzymatchanyindex
  obfuscatequerywithseed randomhadamardtransform timeseriesfromgrid timeseriesrange
  gettypeserializationstreams`.split(/\s+/)

t.test(
  'what gives another value each time in a condition is what the engine says does, and nothing unlooked at',
  async (t) => {
    const functions = await store.rows<{ readonly name: string; readonly steady: number | null }>(
      `SELECT lower(name) AS name, min(ifNull(deterministic, 0)) AS steady FROM system.functions
     WHERE NOT is_aggregate GROUP BY name ORDER BY name`,
    )
    const allowed = functions.filter(({ name }) => isStoredFunction(name))
    t.ok(allowed.length > 1_000, String(allowed.length))
    for (const { name, steady: isSteady } of allowed) {
      if (isSteady === 0) t.not(isFickleFunction(name), steady.includes(name), `${name} may give another value`)
      else if (soundsFickle.test(name)) t.not(isFickleFunction(name), lookedAt.includes(name), name)
    }
    const isUnsaid = allowed.filter(({ name, steady: isSteady }) => isSteady === 1 && isFickleFunction(name))
    t.same(
      isUnsaid.map(({ name }) => name),
      ['indexhint', 'runningconcurrency', 'timeseriesstoretags'],
    )
    for (const name of timeFunctions)
      t.ok(
        functions.some((one) => one.name === name),
        name,
      )
  },
)

const engines: readonly string[] = [
  'MergeTree PARTITION BY a ORDER BY a SAMPLE BY a',
  'ReplacingMergeTree ORDER BY a',
  'SummingMergeTree ORDER BY a',
  'AggregatingMergeTree ORDER BY a',
  'Null',
  'Join(ANY, LEFT, a)',
]

t.test("the engine's own columns are those of the list", async (t) => {
  const found = new Set<string>()
  for (const engine of engines) {
    await store.command(`CREATE TABLE ws_0001.t_columns (a UInt8) ENGINE = ${engine}`)
    const columns = await store.rows<{ readonly name: string; readonly is_virtual: number }>(
      'DESCRIBE TABLE ws_0001.t_columns SETTINGS describe_include_virtual_columns = 1',
    )
    for (const { name, is_virtual: isVirtual } of columns) if (isVirtual === 1) found.add(name)
    await store.command('DROP TABLE ws_0001.t_columns SYNC')
  }
  // A column of a table may be called `_distance`: the engine's own is there for searches by vectors alone.
  found.delete('_distance')
  t.same([...found].sort(), [...partColumns].sort())
})
