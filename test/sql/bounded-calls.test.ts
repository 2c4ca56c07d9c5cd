import t from 'tap'
import { readRowExpression } from '../../src/schema/expressions/row-expression.ts'
import { readStoredText } from '../../src/schema/expressions/stored-expression.ts'
import { compileQuery } from '../../src/sql/compile-query.ts'
import { openEmbeddedStore } from '../../src/store/embedded/embedded-store.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from '../support/store/test-store.ts'

const directory = await createTestDirectory()
const store = await openEmbeddedStore({ ...testStoreOptions(directory.path), selectsInFlightMax: 2 }, silentLogger)
t.teardown(async () => {
  await store.close()
  await directory.remove()
})

const compile = (sql: string) => compileQuery(sql, { scope: { find: () => undefined } })

async function select(sql: string, format = 'CSV'): Promise<string> {
  const { sql: compiled, settings } = compile(sql)
  const { signal } = new AbortController()
  const chunks: Uint8Array[] = []
  for await (const chunk of await store.select({ sql: compiled, format, settings, signal })) chunks.push(chunk)
  return Buffer.concat(chunks).toString().trim()
}

const integers = 'range(1000000)'
const text = "repeat('abcdefghij', 6000)"
const other = "reverse(repeat('abcxefghij', 6000))"

// Each took seconds to minutes within one row or one block, whatever the time limit said.
const endless: readonly string[] = [
  `arrayLevenshteinDistance(${integers}, arrayReverse(${integers}))`,
  `arrayLevenshteinDistance(range(999980), ${integers})`,
  `arrayLevenshteinDistanceWeighted(${integers}, arrayReverse(${integers}), arrayMap(i -> 1., ${integers}), arrayMap(i -> 1., ${integers}))`,
  `arraySimilarity(${integers}, arrayReverse(${integers}), arrayMap(i -> 1., ${integers}), arrayMap(i -> 1., ${integers}))`,
  `editDistance(${text}, ${other})`,
  `editDistanceUTF8(${text}, ${other})`,
  `LEVENSHTEINdistance(${text}, ${other})`,
  `levenshteinDistanceUTF8(${text}, ${other})`,
  `damerauLevenshteinDistance(${text}, ${other})`,
  `jaroSimilarity(${text}, ${other})`,
  `jaroWinklerSimilarity(${text}, ${other})`,
  `arrayMap(x -> editDistance(x, ${other}), [${text}])`,
  `editDistance(materialize(${text}), materialize(${other}))`,
  `max(editDistance(repeat(toString(number), 900), repeat('abcde', 800))) FROM numbers(65000)`,
  `base58Encode(repeat('a', 300000))`,
  `hasSubstr(${integers}, range(500000, 999999))`,
  `position(repeat('a', 1000000), concat(repeat('a', 100000), 'b'))`,
  `position(concat(repeat('a', 100000), 'b') IN repeat('a', 1000000))`,
  `positionCaseInsensitive(repeat('a', 1000000), concat(repeat('a', 100000), 'b'))`,
  `instr(repeat('a', 1000000), concat(repeat('a', 100000), 'b'))`,
  `locate(concat(repeat('a', 100000), 'b'), repeat('a', 1000000))`,
  `replaceAll(repeat('a', 1000000), concat(repeat('a', 100000), 'b'), 'x')`,
  `replaceOne(repeat('a', 1000000), concat(repeat('a', 100000), 'b'), 'x')`,
  `countSubstrings(repeat('a', 1000000), concat(repeat('a', 100000), 'b'))`,
  `position(repeat('a', 1000000), replaceAll('bbbbbbbbbb', 'b', '${'a'.repeat(500)}'))`,
  `position(repeat('a', 1000000), '${'a'.repeat(5_000)}b')`,
]

t.test(
  'no call that takes the square of its arguments runs on, and others are answered',
  { timeout: 300_000 },
  async (t) => {
    for (const call of endless) {
      const outcome = await select(`SELECT ${call}`).then(
        () => 'answered',
        (thrown: unknown) => String(thrown),
      )
      t.match(outcome, /An argument of function \w+ is longer than 4096 bytes or elements/, call.slice(0, 90))
      t.equal(await select('SELECT 1'), '1')
    }
  },
)

t.test('the exact test of Kolmogorov and Smirnov is refused, and its other methods are not', async (t) => {
  for (const parameters of ["'two-sided', 'exact'", "'two-sided', concat('ex', 'act')", "'two-sided', 'ex\\x61ct'"]) {
    const sql = `SELECT kolmogorovSmirnovTest(${parameters})(number, number % 2) FROM numbers(9)`
    t.throws(() => compile(sql), { code: 'SQL_INVALID', message: /takes 'auto' or 'asymp'/ }, parameters)
  }
  for (const method of ['', "('two-sided')", "('less', 'auto')", "('greater', 'asymp')"]) {
    t.ok(await select(`SELECT kolmogorovSmirnovTest${method}(number, number % 2) FROM numbers(9)`), method)
  }
})

const answered: readonly (readonly [sql: string, answer: string])[] = [
  ["editDistance('abc', 'abd')", '1'],
  ["editDistance(toNullable('abc'), 'abd')", '1'],
  ["editDistance(NULL, 'abd')", '\\N'],
  ["editDistance(toLowCardinality('abc'), 'abd')", '1'],
  [`editDistance(repeat('a', 4096), 'a')`, '4095'],
  ["arrayMap(x -> editDistance(x, 'ab'), ['a', 'b', 'ccc'])", '"[1,1,3]"'],
  ["editDistance(base58Encode('a'), base58Encode('b')) AS d", '1'],
  ['arrayLevenshteinDistance([1, 2, 3], [3, 2, 3])', '1'],
  ['arrayLevenshteinDistance([], range(4096))', '4096'],
  ["sum(editDistance(toString(number), 'abc')) FROM numbers(100000)", '489000'],
  ["countIf(editDistance(toString(number), '77') <= 1) FROM numbers(0)", '0'],
  ["position('abcabc', 'ca')", '3'],
  ["position('ca' IN 'abcabc')", '3'],
  ["position('abcabc', lower('CA'))", '3'],
  ["position(concat('abc', toString(number)), toString(number)) FROM numbers(1)", '4'],
  ["locate('ca', 'abcabc')", '3'],
  ["replaceAll('abcabc', substring('xca', 2), '-')", '"ab-bc"'],
  ["replace('abc', 'b', 'x') AS replace", '"axc"'],
  ["base58Decode(base58Encode('abc'))", '"abc"'],
]

t.test('calls with short arguments give what they gave, wherever they stand', async (t) => {
  for (const [call, answer] of answered) t.equal(await select(`SELECT ${call}`), answer, call)
  const grouped = `SELECT editDistance(toString(number), '1') AS d, count() FROM numbers(30)
    WHERE editDistance(toString(number), '1') < 9 GROUP BY d HAVING d > 0 ORDER BY editDistance('a', 'b'), d`
  t.equal(await select(grouped), '1,20\n2,9')
  t.equal(await select("WITH 'ca' AS needle SELECT position('abcabc', needle)"), '3')
  t.equal(await select("WITH (x, y) -> editDistance(x, y) AS f SELECT f('a', 'bb')"), '2')
})

t.test('a column without a name keeps the name that the engine makes of its text', async (t) => {
  const headed = await select("SELECT editDistance(toString(number), 'a'), number FROM numbers(1)", 'CSVWithNames')
  t.equal(headed, `"editDistance(toString(number), 'a')","number"\n1,0`)
})

t.test('what is searched for stays a constant where the query says what it is', async (t) => {
  for (const call of [
    "position(path, 'x')",
    "replaceAll(path, lower('X'), 'y')",
    "countSubstrings(path, concat('a', 'b'))",
  ]) {
    const sql = `SELECT ${call} FROM (SELECT 'x' AS path)`
    t.equal(compile(sql).sql, sql)
  }
})

t.test('a bound function is refused where its arguments cannot be bound', async (t) => {
  t.throws(() => compile(`SELECT arrayMap(base58Encode, ['a'])`), {
    message: /'base58Encode' cannot be handed to another/,
  })
  t.throws(() => readRowExpression("editDistance(a, 'b') < 2", 'A row filter'), {
    message: /A row filter cannot call function 'editDistance'/,
  })
  t.throws(() => readStoredText("editDistance(a, 'b')", 'expression', 'DEFAULT'), {
    message: /DEFAULT cannot call function 'editDistance'/,
  })
  t.doesNotThrow(() => readRowExpression("position(a, 'b') > 0", 'A row filter'))
})

t.test('queries that make large values out of nothing have small blocks', async (t) => {
  const rowsOf = (sql: string) => compile(sql).settings['max_block_size']
  for (const call of [
    'range(9)',
    "repeat('a', 9)",
    'arrayWithConstant(9, 1)',
    "leftPad('a', 9)",
    "editDistance('a', 'b')",
  ]) {
    t.equal(rowsOf(`SELECT ${call}`), 1_024, call)
  }
  for (const call of ['groupArray(1)', 'groupUniqArrayIf(1, 1)', "groupConcat(',')('a')"]) {
    t.equal(rowsOf(`SELECT ${call}`), 8_192, call)
  }
  for (const call of ['count()', "upper('a')", "position('a', 'b')"]) t.equal(rowsOf(`SELECT ${call}`), undefined, call)
})
