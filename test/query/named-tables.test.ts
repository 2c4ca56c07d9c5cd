// The names of tables in all branches of templates: single forms, and random templates against every way through them, each
// rendered and parsed.

import t from 'tap'
import { namedTables } from '../../src/query/named-tables.ts'
import { parseStatement } from '../../src/sql/parse-statement.ts'
import { findCommonTable } from '../../src/sql/scope-lookup.ts'
import { compileTemplate } from '../../src/template/compile-template.ts'
import { SeededRandom, testSeed } from '../support/seeded-random.ts'
import { byTier } from '../support/tier.ts'

function namesIn(sql: string): readonly string[] {
  return [...new Set(namedTables(sql).tables.map(({ name }) => name))].sort()
}

t.test('the names of each form are found, and nothing else', async (t) => {
  const cases: readonly (readonly [sql: string, names: string])[] = [
    ['% SELECT * FROM a', 'a'],
    ['% SELECT * FROM a, b AS x, `c` JOIN "d" ON 1', 'a b c d'],
    ['% SELECT * FROM a WHERE x IN b AND y NOT IN (c, d) AND in(z, e)', 'a b e'],
    ['% SELECT * FROM (SELECT * FROM a) AS s, b', 'a b'],
    ['% SELECT * FROM (a JOIN b ON 1) JOIN c USING x, y', 'a b c'],
    ['% SELECT * FROM a ARRAY JOIN x, y JOIN b ON f(1, 2) = 2', 'a b'],
    ['% WITH q AS (SELECT * FROM a), r AS (SELECT * FROM q) SELECT * FROM q, r, b', 'a b'],
    ['% WITH a AS (SELECT * FROM a) SELECT * FROM a', 'a'],
    ["% SELECT joinGet('j', 'v', k) FROM numbers(10)", 'j'],
    ['% SELECT x IS DISTINCT FROM y, trim(BOTH z FROM u) FROM a', 'a'],
    ["% SELECT 1 -- FROM b\n, 'FROM c', `FROM d` /* JOIN e */ FROM a # JOIN f", 'a'],
    ['% SELECT 1 {% if x %} FROM a {% elif y %} FROM b {% else %} FROM c {% end %}', 'a b c'],
    ['% SELECT 1 FROM {% if x %} a {% else %} b {% end %}, {% if x %} c {% else %} d {% end %}', 'a b c d'],
    ['% SELECT 1 FROM ev{% if x %}ents{% else %}als{% end %}', 'evals events'],
    ["% SELECT 1 {% if x %} FROM {% end %} {% if x %} '{% end %}a{% if x %}'{% end %}", 'a'],
    ['% SELECT 1 {% if x %} /* {% end %} FROM a {% if x %} */ {% end %}', 'a'],
    ["% SELECT 1 FROM {{ table('a') }} JOIN {{ symbol('b') }} ON 1", 'a b'],
    ["% SELECT 1 FROM {{ table('a' if x else 'b') }} JOIN {{ TABLE(y or 'c') }} ON 1", 'a b c'],
    ["% {% set t = 'a' %}{% if x %}{% set t = 'b' %}{% end %} SELECT 1 FROM {{ table(t) }}", 'a b'],
    ["% SELECT 1 {% for t in ['a', 'b'] %} UNION ALL SELECT 1 FROM {{ table(t) }} {% end %}", 'a b'],
    ["% SELECT 1 FROM {{ table(String(x, 'a', description='b', enum=['a', 'c'])) }}", 'a c'],
    ["% SELECT 1 FROM a_{{ table('b') }}_c", 'a_b_c'],
    ['% SELECT 1 FROM {% try %} a {{ error(1) }} b {% except %} , c {% finally %} , d {% end %}', 'a c d'],
    ['% SELECT 1 FROM {% while x %} a, {% break %} b, {% end %} c', 'a c'],
    ["% SELECT 1 FROM a WHERE x = {{ String(y, 'b') }} AND z IN {{ Array(v, 'String', 'c,d') }}", 'a'],
    ['% SELECT count() AS in_a, t.from, t.join FROM a AS t LIMIT 1, 2', 'a'],
    ['% SELECT 1 FROM t_.some.0123456789abcdef0123456789abcdef, x.y', 't_.some.0123456789abcdef0123456789abcdef x.y'],
    ['SELECT 1 FROM a', 'a'],
    ['% {% nothing %}', ''],
  ]
  for (const [sql, names] of cases) t.equal(namesIn(sql).join(' '), names, sql)
  t.same(namedTables('% SELECT 1 FROM a_{{ table(x) }} JOIN {{ table(y) }} ON 1').made, [{ prefix: 'a_', suffix: '' }])
  t.same(namedTables("% SELECT 1 FROM {{ table('a_' + x) }}").made, [{ prefix: 'a_', suffix: '' }])
})

t.test('many optional columns make no other word a table', (t) => {
  for (const count of [5, 12, 60]) {
    const columns = Array.from({ length: count }, (_, at) => `{% if c${at} %}, n + 0 AS col${at}{% end %}`).join('')
    t.equal(namesIn(`% SELECT n${columns}, a AS country FROM cut`).join(' '), 'cut', `${count} columns`)
  }
  t.end()
})

t.test('a name tells where it stands, and whether it has an alias', async (t) => {
  const sql =
    "% SELECT a.x {# a #} FROM {% if x %} a {% else %} `a` AS y {% end %} JOIN {{ table('a') }} ON 1 JOIN a{% if z %} b{% end %}"
  const { tables, qualifiers } = namedTables(sql)
  const told = tables
    .toSorted((one, other) => (one.span?.start ?? 0) - (other.span?.start ?? 0))
    .map(({ span, aliased }) => [sql.slice(span?.start, span?.end), aliased])
  t.same(told, [
    ['a', 'none'],
    ['`a`', 'all'],
    ["'a'", 'none'],
    ['a', 'some'],
  ])
  t.same(
    qualifiers.map(({ name, span }) => [name, span]),
    [['a', { start: 9, end: 10 }]],
  )
})

t.test('every way through random templates reads what was found, and no other name is found', async (t) => {
  const seed = testSeed()
  const random = new SeededRandom(seed)
  t.comment(`SEED=${seed}`)
  let readCount = 0
  for (let round = 0; round < byTier({ quick: 300, full: 1_500, soak: 100_000 }); round += 1) {
    const template = randomTemplate(random)
    const read = new Set<string>()
    let isParsed = true
    for (const sql of renderings(template)) {
      try {
        for (const name of readsOf(sql)) read.add(name)
        readCount += 1
      } catch {
        isParsed = false
      }
    }
    const found = namesIn(template)
    const missed = [...read].filter((name) => !found.includes(name))
    // A condition that stands twice leaves ways that nothing can take.
    const used = template.match(/\bc\d\b/g) ?? []
    const isExact = isParsed && new Set(used).size === used.length
    const others = isExact ? found.filter((name) => !read.has(name)) : []
    if (missed.length > 0 || others.length > 0)
      t.fail(`round ${round}: missed ${missed}, others ${others}`, { template })
  }
  t.ok(readCount > 300, `${readCount} renderings`)
})

/** All renderings of a template by the answers to its conditions `c0`, `c1`, … */
function renderings(template: string): readonly string[] {
  const conditions = [...new Set(template.match(/\bc\d\b/g) ?? [])]
  const compiled = compileTemplate(template)
  return Array.from({ length: 2 ** conditions.length }, (_, bits) => {
    const decide = (condition: string): boolean => (bits & (1 << conditions.indexOf(condition))) !== 0
    return compiled.render(new Map(), { mode: 'check', secret: () => undefined, secretsAs: 'literals', decide }).sql
  })
}

function readsOf(sql: string): readonly string[] {
  const parsed = parseStatement(sql)
  if (parsed === null) return []
  return parsed.reads.flatMap(({ parts, kind, scope }) => {
    const name = parts?.join('.') ?? ''
    const isCommon = kind !== 'joinGet' && findCommonTable(parsed.scopes, scope, name) !== undefined
    return isCommon ? [] : [name]
  })
}

const names: readonly [string, ...string[]] = [
  'a',
  'b',
  'c',
  'events',
  'users_2',
  '`d`',
  '"e"',
  't_.x.0123456789abcdef0123456789abcdef',
]

/** A query of which parts are put under conditions, each condition at several places. */
function randomTemplate(random: SeededRandom): string {
  let conditionCount = 0
  const condition = (): string => {
    const isNew = conditionCount === 0 || (conditionCount < 7 && random.below(5) > 0)
    if (isNew) conditionCount += 1
    return isNew ? `c${conditionCount - 1}` : `c${random.below(conditionCount)}`
  }
  const maybe = (text: string, other = ''): string => {
    const choice = random.below(6)
    if (choice === 0) return `{% if ${condition()} %}${text}{% else %}${other}{% end %}`
    if (choice === 1 && other !== '')
      return `{% if ${condition()} %}${other}{% elif ${condition()} %}${text}{% else %}${text}{% end %}`
    return text
  }
  const name = (): string => {
    const one = random.pick(names)
    const printed = /^\w+$/.test(one) && random.below(6) === 0 ? `{{ table('${one}') }}` : one
    return maybe(printed, random.pick(names))
  }
  const alias = (): string => random.pick(['', ' AS x', ' y', ' FINAL', ' AS `from`', ' /* FROM z */'])
  const table = (depth: number): string => {
    if (depth > 0 && random.below(4) === 0) return maybe(`(${query(depth - 1)}) AS s`, name())
    return maybe(
      random.pick([`${name()}${alias()}`, `${name()}`, 'numbers(10) AS n', `(${name()} JOIN ${name()} ON 1)`]),
      name(),
    )
  }
  const column = (depth: number): string =>
    random.pick([
      '1 AS one',
      "'FROM a' AS f",
      'a.x',
      `x IN ${name()} AS i`,
      `has(x, 1) AND in(x, ${name()}) AS h`,
      `x NOT IN (1, 2) AS m`,
      'extract(DAY FROM d) AS e',
      'x IS NOT DISTINCT FROM y AS z',
      `joinGet('j', 'v', k) AS g`,
      depth > 0 ? `(${query(depth - 1)}) AS q` : '2 AS two',
      "{{ String(p, 'FROM b') }} AS p",
    ])
  const query = (depth: number): string => {
    const common =
      random.below(4) === 0 && depth > 0 ? `WITH ${random.pick(['a', 'b', 'w'])} AS (${query(depth - 1)}), 1 AS k ` : ''
    const columns = Array.from({ length: 1 + random.below(3) }, () => column(depth)).join(', ')
    const joins = Array.from({ length: random.below(3) }, () =>
      maybe(random.pick([', ', ' JOIN ', ' LEFT ANY JOIN ', ' CROSS JOIN ']) + table(depth)),
    ).join('')
    const rest = maybe(
      random.pick(['', ' WHERE x IN a', ' -- JOIN u\n', ' ARRAY JOIN p, q', ' GROUP BY x, y', ' LIMIT 1, 2']),
    )
    const more = depth > 0 && random.below(4) === 0 ? maybe(` UNION ALL ${query(depth - 1)}`) : ''
    return `${common}SELECT ${columns} FROM ${table(depth)}${joins}${rest}${more}`
  }
  return `% ${query(2)}`
}
