import t from 'tap'
import { timeZoneNames } from '../../../src/schema/time-zones/time-zone-names.ts'
import { openEmbeddedStore } from '../../../src/store/embedded/embedded-store.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from '../../support/store/test-store.ts'

const directory = await createTestDirectory()
const store = await openEmbeddedStore(testStoreOptions(directory.path), silentLogger)
t.teardown(async () => {
  await store.close()
  await directory.remove()
})

t.test('the names of time zones are those of the engine', async (t) => {
  const known = await store.rows<{ readonly name: string }>(
    'SELECT time_zone AS name FROM system.time_zones ORDER BY name',
  )
  t.same(
    [...timeZoneNames].sort(),
    known.map(({ name }) => name),
  )
})
