import t from 'tap'
import { isBareFunction } from '../../src/schema/functions/bare-functions.ts'
import { openEmbeddedStore } from '../../src/store/embedded/embedded-store.ts'
import { checked } from '../support/checked-text.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from '../support/store/test-store.ts'

const directory = await createTestDirectory()
const store = await openEmbeddedStore(testStoreOptions(directory.path), silentLogger)
t.teardown(async () => {
  await store.close()
  await directory.remove()
})

const functions = await store.rows<{ readonly name: string }>(
  `SELECT DISTINCT name FROM system.functions ORDER BY name`,
)
const { signal } = new AbortController()

async function answers(name: string): Promise<boolean> {
  const quoted = `\`${name.replaceAll('`', '\\`')}\``
  try {
    for await (const _ of await store.select({
      sql: checked(`SELECT ${quoted}`),
      format: 'Null',
      settings: {},
      signal,
    }));
    return true
  } catch {
    return false
  }
}

t.test('the functions that the engine calls without brackets are those of the list, in any case', async (t) => {
  const found: string[] = []
  for (const { name } of functions) {
    for (const spelling of new Set([name, name.toUpperCase(), name.toLowerCase()])) {
      if (!(await answers(spelling))) continue
      found.push(spelling.toLowerCase())
      t.ok(isBareFunction(spelling), spelling)
    }
  }
  t.equal(new Set(found).size, 15, [...new Set(found)].join(' '))
  t.ok(functions.length > 1_500, String(functions.length))
})
