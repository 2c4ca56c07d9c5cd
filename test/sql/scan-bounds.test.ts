import t from 'tap'
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

async function select(sql: string): Promise<string> {
  const { sql: compiled, settings } = compile(sql)
  const { signal } = new AbortController()
  const chunks: Uint8Array[] = []
  for await (const chunk of await store.select({ sql: compiled, format: 'CSV', settings, signal })) chunks.push(chunk)
  return Buffer.concat(chunks).toString().trim()
}

const million = 'range(1000000)'
const long = "repeat(repeat('a', 10), 1000000)"
const random = 'arrayStringConcat(arrayMap(i -> char(97 + rand(i) % 2), range(2000000)))'
const objectOf = (first: number): string =>
  `concat('{', arrayStringConcat(arrayMap(i -> concat('"', toString(i + ${first}), '":1'), range(100000)), ','), '}')`
const star = (points: number, x: number): string =>
  `arrayMap(i -> (cos(i * 0.0002) * (1 + 0.2 * (i % 2)) + ${x}, sin(i * 0.0002) * (1 + 0.2 * (i % 2))), range(${points}))`

// Each took seconds to hours within one row or one block, whatever the time limit said.
const endless: readonly string[] = [
  "multiSearchAny(repeat('abcdefghij', 6000), arrayMap(i -> toString(i), range(30000)))",
  "multiSearchAnyUTF8(repeat('abcdefghij', 6000), arrayMap(i -> toString(i), range(30000)))",
  "multiMatchAny(repeat('abcdefghij', 6000), arrayMap(i -> toString(i), range(30000)))",
  "multiFuzzyMatchAny(repeat('abcdefghij', 6000), 1, arrayMap(i -> toString(i), range(30000)))",
  `hasAll(${million}, arrayReverse(${million}))`,
  `hasAny(${million}, range(1000000, 2000000))`,
  `arrayMap(x -> has(${million}, x + 1000000), ${million})`,
  `arrayMap(x -> indexOf(${million}, x + 1000000), ${million})`,
  `arrayMap(x -> countEqual(${million}, x + 1000000), ${million})`,
  `WITH ${million} AS numbers SELECT arrayMap(x -> has(numbers, x + 1000000), ${million})`,
  `arrayMap(x -> position(repeat('ab', 1000000), toString(x)), ${million})`,
  `arrayMap(x -> has((SELECT groupArray(number) FROM numbers(1000000)), x + 1000000), ${million})`,
  `arrayMap(x -> has(arraySort(${million}), x + 1000000), ${million})`,
  `arrayMap(x -> countSubstrings(repeat('a', 1000000), toString(x)), range(100000))`,
  `arrayMap(x -> hasSubsequence(repeat('a', 1000000), toString(x)), range(100000))`,
  `arrayMap(x -> substringUTF8(repeat('é', 1000000), x, 1), range(100000))`,
  `arrayMap(x -> JSONExtractRaw(concat('[', repeat('1,', 100000), '1]'), x), range(100000))`,
  `arrayMap(x -> match(repeat('ab', 1000000), toString(x)), range(100000))`,
  `arrayMap(x -> repeat('ab', 1000000) LIKE concat('%', toString(x), '%'), range(100000))`,
  `arrayMap(x -> repeat('ab', 1000000) NOT ILIKE concat('%', toString(x), '%'), range(100000))`,
  `repeat('ab', 30000) LIKE concat(repeat('%a%b', 2000), 'c')`,
  `like(repeat('ab', 30000), concat(repeat('%a%b', 2000), 'c'))`,
  `repeat('ab', 30000) REGEXP concat(repeat('a.*b', 2000), 'c')`,
  `match(${random}, 'a.{200}b.{300}c')`,
  `match(${random}, concat('a.{200}', repeat('b', 100)))`,
  `extractGroups(${random}, '(a*)(a*)(a*)([ab]{500})(b)(c)')`,
  "extractAll(repeat('a', 100000), 'a*b|a')",
  "replaceRegexpAll(repeat('a', 100000), 'a*b|a', 'x')",
  "REGEXP_REPLACE(repeat('a', 100000), 'a*b|a', 'x')",
  "countMatches(repeat('a', 100000), 'a+b|a')",
  "splitByRegexp('a{2,}b|a', repeat('a', 100000))",
  "extractAllGroupsVertical(repeat('a', 100000), '(a*b|a)')",
  "arrayMap(x -> extractAll(concat(repeat('a', 60000), toString(x)), 'a*b|a'), range(1000))",
  `multiSearchAny(${long}, arrayMap(i -> concat(repeat('a', 10), toString(i)), range(200)))`,
  `countSubstrings(${long}, concat(repeat('a', 4000), 'b'))`,
  `replaceAll(${long}, concat(repeat('a', 4000), 'b'), 'c')`,
  "extractTextFromHTML(repeat('<!--', 300000))",
  "URLPathHierarchy(concat('http://a/', repeat('a/', 100000)))",
  "JSON_QUERY(concat('[', repeat('[[1,1],[1,1]],', 30000), '1]'), '$[*][*][*]')",
  `JSONMergePatch(${objectOf(0)}, ${objectOf(100_000)})`,
  `pointInPolygon((0.1, 0.5), ${star(628_318, 0)})`,
  `polygonsIntersectionCartesian([[${star(31_416, 0)}]], [[${star(31_416, 0.3)}]])`,
  `polygonsUnionSpherical([[${star(31_416, 0)}]], [[${star(31_416, 0.3)}]])`,
]

t.test('no call that goes over a long value again and again runs on', { timeout: 300_000 }, async (t) => {
  for (const call of endless) {
    const outcome = await select(call.startsWith('WITH') ? call : `SELECT ${call}`).then(
      () => 'answered',
      (thrown: unknown) => String(thrown),
    )
    t.match(
      outcome,
      /arguments? of function \w+ (?:is longer than \d+ bytes|are too long for so many)/,
      call.slice(0, 90),
    )
  }
})

t.test('patterns and paths whose work does not end are refused as they are written', (t) => {
  const refused: readonly (readonly [call: string, message: RegExp])[] = [
    ["JSON_QUERY('[1]', '$[0 to 1000000000]')", /index 1000000000; the largest of a range is 10000/],
    ["JSON_VALUE('[1]', '$[0 \\x74\\x6f 1000000000]')", /index 1000000000/],
    ["JSON_EXISTS('[1]', '$[*][*][*][*][*]')", /more than 4 ranges and asterisks/],
    ["JSON_QUERY('[1]', concat('$[0 to ', '1000000000]'))", /path of JSON_QUERY\(\) must be a text in quotes/],
    ['h3Line(geoToH3(0., 0., 15), geoToH3(10., 10., 15))', /'h3Line' is not allowed: its line may be of any length/],
    [`'a' LIKE '${'%a'.repeat(101)}'`, /A pattern of LIKE has more than 100 wildcards/],
    [`'a' NOT ILIKE concat('${'%a'.repeat(60)}', '${'_a'.repeat(60)}')`, /more than 100 wildcards/],
    [`like('a', '${'%a'.repeat(101)}')`, /more than 100 wildcards/],
    [`arrayExists(x -> x ILIKE '${'%a'.repeat(101)}', ['a'])`, /more than 100 wildcards/],
  ]
  for (const [call, message] of refused) t.throws(() => compile(`SELECT ${call}`), { message }, call.slice(0, 60))
  t.doesNotThrow(() => compile(`SELECT 'a' LIKE '${'%a'.repeat(100)}'`))
  t.end()
})

const answered: readonly (readonly [sql: string, answer: string])[] = [
  ['arrayMap(x -> has([1, 2, 3], x), range(5))', '"[0,1,1,1,0]"'],
  ["has(['a', 'b'], lower('A')), range(0)", '1,"[]"'],
  ['hasAll(range(9), [1, 2]), hasAny(range(9), range(100, 4000))', '1,0'],
  ["countIf(toString(number) LIKE concat('%', toString(number % 10))), repeat('a', 2) FROM numbers(1000)", '1000,"aa"'],
  ["arrayFilter(x -> x LIKE concat(x, '%'), [repeat('a', 3)])", '"[\'aaa\']"'],
  ["x NOT LIKE y FROM (SELECT repeat('a', 9) AS x, 'b' AS y)", '1'],
  ["replaceRegexpAll(repeat('a b', 3), '\\\\s+', '')", '"ababab"'],
  ["replaceRegexpAll(repeat('<a>b', 3), '<[^>]*>', '')", '"bbb"'],
  ["extractAll(repeat('a1b22', 2), '[0-9]+b|a')", "\"['a','1b','a','1b']\""],
  ["match(repeat('a', 300), '^a{200}.{100}$')", '1'],
  ["JSONExtractString(concat('{\"a\":\"', repeat('b', 3), '\"}'), 'a')", '"bbb"'],
  ["JSON_VALUE('{\"a\":[1,2]}', '$.a[0 to 9]'), JSON_QUERY('{\"a\":[1,2]}', '$.a[*]')", '"1","[1, 2]"'],
  ["WITH '$.a' AS path SELECT JSON_VALUE('{\"a\":1}', path)", '"1"'],
  ["sum(position(concat('a', toString(number)), toString(number))), range(0) FROM numbers(100000)", '200000,"[]"'],
  ['sum(pointInPolygon((number / 10, 0.1), [(0., 0.), (1., 0.), (0., 1.)])), range(0) FROM numbers(100)', '9,"[]"'],
  ["URLPathHierarchy(concat('http://a/', repeat('b/', 2)))", "\"['/b/','/b/b/']\""],
  ["has([repeat('a', 2), NULL], NULL), has([toNullable('aa')], repeat('a', 2))", '1,1'],
]

t.test('the same calls with short arguments give what they gave', async (t) => {
  for (const [call, answer] of answered) {
    t.equal(await select(call.startsWith('WITH') ? call : `SELECT ${call}`), answer, call)
  }
})

t.test('queries that make no large values are written as they were', (t) => {
  const calls = ["has(a, 'x')", "b LIKE concat('%', c)", "replaceRegexpAll(b, '<[^>]*>', '')", 'JSONExtractInt(b, c)']
  for (const call of calls) {
    const sql = `SELECT ${call} FROM (SELECT ['x'] AS a, 'b' AS b, 'c' AS c)`
    t.equal(compile(sql).sql, sql)
  }
  for (const large of [
    "repeat('a', 9)",
    'format(b, b)',
    "replaceAll(b, 'b', c)",
    `replaceOne(b, 'b', '${'b'.repeat(40)}')`,
  ]) {
    const sql = `SELECT extractAll(b, 'a*b|a'), ${large} FROM (SELECT toString(number) AS b, 'c' AS c FROM numbers(1))`
    t.equal(compile(sql).sql === sql, large.startsWith('replaceOne'), large)
  }
  t.end()
})
