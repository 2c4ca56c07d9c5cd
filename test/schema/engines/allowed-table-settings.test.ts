import t from 'tap'
import {
  joinSettings,
  parseEngineSettings,
  storedEngineSettings,
  tableSettings,
} from '../../../src/schema/engines/allowed-table-settings.ts'
import { openEmbeddedStore } from '../../../src/store/embedded/embedded-store.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from '../../support/store/test-store.ts'

const directory = await createTestDirectory()
const store = await openEmbeddedStore(testStoreOptions(directory.path), silentLogger)
t.teardown(async () => {
  await store.close()
  await directory.remove()
})
const known = await store.rows<{ readonly name: string }>('SELECT name FROM system.merge_tree_settings')

t.test(
  'what a table may set is known to the engine, and nothing else of what the engine knows may be set',
  async (t) => {
    t.ok(known.length > 200)
    const names = new Set(known.map(({ name }) => name))
    for (const name of tableSettings) t.ok(names.has(name), `the engine has ${name}`)
    const ofQueries = await store.rows<{ readonly name: string }>('SELECT name FROM system.settings')
    const queryNames = new Set(ofQueries.map(({ name }) => name))
    for (const name of joinSettings) t.ok(queryNames.has(name), `the engine has ${name}`)
    for (const name of queryNames) {
      if (!joinSettings.has(name) && !tableSettings.has(name)) {
        t.throws(() => parseEngineSettings(`${name} = 1`), new RegExp(`cannot set '${name}':`), name)
      }
    }
    for (const name of names) {
      if (tableSettings.has(name)) t.same(parseEngineSettings(`${name} = 1`), [{ name, value: '1' }])
      else t.throws(() => parseEngineSettings(`${name} = 1`), new RegExp(`cannot set '${name}':`), name)
    }
  },
)

t.test('neither may what tells where parts lie, what runs, or what an insert forgets, in any writing', async (t) => {
  const families =
    /^(?:disk|table_disk|storage_policy|table_readonly|.*(?:fault_probability|workload|zookeeper|fsync|prewarm|sleep|throw|delay_insert|max_concurrent).*)$/
  t.same(
    [...tableSettings].filter((name) => families.test(name)),
    [],
  )
  for (const text of [
    'STORAGE_POLICY = 1',
    'Index_Granularity = 1',
    '`disk` = 1',
    "'disk' = 1",
    'index_granularity = 1, disk = 1',
  ]) {
    t.throws(() => parseEngineSettings(text), /cannot set|looks like/, text)
  }
})

t.test('a definition that is stored keeps what it has set', async (t) => {
  t.same(storedEngineSettings("parts_to_throw_insert = 5, storage_policy = 'x'"), [
    { name: 'parts_to_throw_insert', value: '5' },
    { name: 'storage_policy', value: "'x'" },
  ])
})
