// Columns, aliases and tables that are called as words of the language: the engine's own parser is asked about each word in
// each place of a query, and what it reads there we read too.

import t from 'tap'
import { parseStatement } from '../../src/sql/parse-statement.ts'
import { openEmbeddedStore } from '../../src/store/embedded/embedded-store.ts'
import { keywordPlaces } from '../support/schema/keyword-places.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from '../support/store/test-store.ts'
import { byTier, everyNth } from '../support/tier.ts'

const directory = await createTestDirectory()
const store = await openEmbeddedStore(testStoreOptions(directory.path), silentLogger)
t.teardown(async () => {
  await store.close()
  await directory.remove()
})

/** Names of columns in public projects that are words of the language, and the words that a query is divided by. */
const commonWords = 'CASE INTERVAL SELECT WITH FROM WINDOW DATE TIMESTAMP ALL END LEFT FORMAT VALUES SETTINGS'.split(
  ' ',
)
const rows = await store.rows<{ keyword: string }>(
  "SELECT keyword FROM system.keywords WHERE match(keyword, '^[A-Z_]+$') ORDER BY cityHash64(keyword)",
)
const otherWords = rows.slice(0, byTier({ quick: 6, full: 24, soak: rows.length })).map(({ keyword }) => keyword)
const words = new Set([...commonWords, ...otherWords])

/** What is refused on purpose, though the engine takes it. */
const refusals: readonly (readonly [place: RegExp, reason: string])[] = [
  [
    /^SELECT 1 \w+ FROM t$/,
    'an operator without its right side: FROM is a column then, t its alias, and no table is read',
  ],
  [/\bnot FROM t\b/, 'the same: the operand of NOT is called FROM'],
  [/^SELECT NOT as FROM t$/, 'the same: a column called `as` whose alias is FROM'],
  [/^SELECT TOP 1 with FROM t$/, 'the same: WITH without TIES'],
  [/\bstream\b/, 'STREAM behind a table is a way of reading'],
  [/\) uuid$/, 'UUID behind a table names another one'],
  [/ select(?:$| ON| JOIN)/, 'SELECT behind a table is the rest of the query'],
  [/^SELECT CASE then WHEN/, 'a column called `then` that is compared'],
  [/\(ORDER BY not ROWS/, 'a column called `not`'],
  [/columns\(DISTINCT a\)/, 'no function has this name'],
]

/** The tables behind FROM and JOIN, sorted; null when the engine does not take it. */
async function engineTables(sql: string): Promise<readonly string[] | null> {
  try {
    const lines = await store.rows<{ explain: string }>(`SELECT explain FROM (EXPLAIN AST ${sql})`)
    const tables = lines.flatMap(({ explain }) => /TableIdentifier (\S+)/.exec(explain)?.[1] ?? [])
    // What it reads where no FROM is.
    return tables.filter((table) => table !== 'system.one').sort()
  } catch {
    return null
  }
}

function ourTables(sql: string): readonly string[] | string {
  try {
    const reads = parseStatement(sql)?.reads ?? []
    return reads.flatMap(({ kind, parts }) => (kind === 'table' && parts !== null ? [parts.join('.')] : [])).sort()
  } catch (error) {
    return String(error)
  }
}

t.test('a word of the language is a name wherever the engine takes it for one', async (t) => {
  let count = 0
  const wrong: unknown[] = []
  const step = byTier({ quick: 3, full: 1, soak: 1 })
  for (const [index, word] of [...words].entries()) {
    for (const place of everyNth(keywordPlaces, step, index)) {
      const sql = place.replaceAll(/\bK\b/g, word.toLowerCase())
      const theirs = await engineTables(sql)
      if (theirs === null || refusals.some(([pattern]) => pattern.test(sql))) continue
      const ours = ourTables(sql)
      count += 1
      if (String(ours) !== String(theirs)) wrong.push({ sql, ours, theirs })
    }
  }
  t.same(wrong, [])
  t.ok(count > (words.size * 50) / step)
})

t.test('CASE and INTERVAL are expressions where all of them is there, in each other too', (t) => {
  const accepted = [
    'SELECT CASE CASE a WHEN 1 THEN 2 END WHEN 2 THEN 3 END',
    'SELECT CASE WHEN case = 1 THEN interval ELSE case END FROM t',
    'SELECT INTERVAL CASE WHEN a THEN 1 ELSE 2 END DAY',
    'SELECT INTERVAL -(a + b) * 2 DAY + INTERVAL f(x)[1] HOUR',
    'SELECT now() - INTERVAL interval DAY, interval FROM t',
    "SELECT interval, INTERVAL '1 day', INTERVAL '1' DAY FROM t",
    'SELECT interval - INTERVAL 1 DAY, -interval, interval.a, interval[1] FROM t',
    'SELECT toStartOfInterval(ts, INTERVAL 5 MINUTE) AS interval, count() FROM t GROUP BY interval ORDER BY interval DESC',
    'WITH interval AS (SELECT 1 AS day) SELECT interval.day FROM interval',
    `SELECT ${'interval + '.repeat(3_000)} 1 FROM t`,
    `SELECT ${'case + '.repeat(3_000)} 1 FROM t`,
  ]
  for (const sql of accepted) t.doesNotThrow(() => parseStatement(sql), sql.slice(0, 100))
  t.throws(() => parseStatement('SELECT CASE WHEN a THEN 1'))
  t.throws(() => parseStatement('SELECT INTERVAL 1 FROM t'))
  t.end()
})
