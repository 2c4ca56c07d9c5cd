// The engine's own parser is asked what it does with each of its keywords where an alias without AS could stand.

import t from 'tap'
import { notExpressionAliases, notTableAliases } from '../../../src/schema/syntax/keywords.ts'
import { openEmbeddedStore } from '../../../src/store/embedded/embedded-store.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from '../../support/store/test-store.ts'

const directory = await createTestDirectory()
const store = await openEmbeddedStore(testStoreOptions(directory.path), silentLogger)
t.teardown(async () => {
  await store.close()
  await directory.remove()
})

const rows = await store.rows<{ keyword: string }>('SELECT keyword FROM system.keywords')
const words = new Set(rows.flatMap(({ keyword }) => keyword.toUpperCase().split(' ')))

async function tree(sql: string): Promise<string> {
  try {
    const lines = await store.rows<{ explain: string }>(`SELECT explain FROM (EXPLAIN AST ${sql})`)
    return lines.map(({ explain }) => explain).join('\n')
  } catch {
    return ''
  }
}

t.test('what the engine does not take for the alias of a column is none for us', async (t) => {
  const refused: string[] = []
  for (const word of words) {
    const isAlias = (await tree(`SELECT a ${word} FROM t WHERE b`)).includes(`Identifier a (alias ${word})`)
    if (!isAlias) refused.push(word)
  }
  t.same([...notExpressionAliases].sort(), refused.sort())
})

t.test('what the engine does not take for the alias of a table is none for us', async (t) => {
  const refused: string[] = []
  for (const word of words) {
    const isAlias = (await tree(`SELECT a FROM t ${word} WHERE b`)).includes(`TableIdentifier t (alias ${word})`)
    // Behind FROM the query may go on with SELECT.
    if (!isAlias || word === 'SELECT') refused.push(word)
  }
  t.same([...notTableAliases].sort(), refused.sort())
})
