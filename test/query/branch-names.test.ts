// A table that a branch reads is found in the text of its template, in whichever way its name is spelled: the text is rendered with
// the branch taken and parsed, and what that reads must be among the names that were found without any values.

import t from 'tap'
import { mayBeMade, namesLike } from '../../src/query/branch-reads.ts'
import { namedTables } from '../../src/query/named-tables.ts'
import { parseStatement } from '../../src/sql/parse-statement.ts'
import { compileTemplate } from '../../src/template/compile-template.ts'
import { SeededRandom, testSeed } from '../support/seeded-random.ts'
import { branchCase } from '../support/spelled-names.ts'
import { byTier } from '../support/tier.ts'

const id = 't_0123456789abcdef0123456789abcdef'

t.test('what a random branch reads is found without its values', (t) => {
  const seed = testSeed()
  const random = new SeededRandom(seed)
  t.comment(`SEED=${seed}`)
  for (let round = 0; round < byTier({ quick: 1_000, full: 2_500, soak: 200_000 }); round += 1) {
    const { sql, values, source } = branchCase(random, id)
    const named = namedTables(sql)
    const isFound = namesLike(named, { id, name: source }).length > 0 || mayBeMade(named, { id, name: source })
    const reads = readsOf(sql, values)
    if (!reads.some((name) => name.startsWith(source) || name.endsWith(id.slice(2)))) t.fail('reads nothing', { sql })
    if (!isFound) t.fail(`round ${round}: not found`, { sql, reads })
  }
  t.end()
})

function readsOf(template: string, values: string): readonly string[] {
  const given = new Map(new URLSearchParams(values))
  const context = { mode: 'run', secret: () => undefined, secretsAs: 'literals' } as const
  const { sql } = compileTemplate(template).render(given, context)
  return parseStatement(sql)?.reads.map(({ parts }) => parts?.join('.') ?? '') ?? []
}

t.test('a name that is worked out of texts is found, and what is made of a caller’s text as far as texts say', (t) => {
  const resource = { id, name: 'grd_sales' }
  const made = [
    "{{ table('GRD_SALES'.lower()) }}",
    "{{ table('a,grd_sales'.split(',')[1]) }}",
    "{{ table('grd_sales_x'[:n]) }}",
    "{{ table(('GRD_' + x).lower()) }}",
    "{{ table(x.replace('-', 'sales')) }}",
    "{% for a in ['GRD', 'X'] %}{{ table(a.lower() + '_sales') }}{% end %}",
    "{% set a = 'Q' %}{{ table({'Q': 'grd_sales'}[a]) }}",
    "a WHERE {{ sql_and(x__in=symbol('grd_sales')) }}",
    "a WHERE x IN {{ columns('b,grd_sales') }}",
    "{{ table(x + '_quarantine') }}",
    "{{ table(x + '_sales__v3') }}",
    "{{ table('t_012345' + x) }}",
    "{{ table('grd' + x) }}{{ table(y + 'es') }}",
    '{% if x %}`{% end %}grd{% if x %}_sales`{% end %}',
    "a /{% if x %}* it's *{% end %}/, grd_sales",
    "a -{% if x %}- it's\n{% end %}1, grd_sales",
    'a JOIN b USING (c), grd_sales',
    'a ARRAY JOIN c AS d JOIN b USING (e), (f JOIN grd_sales ON 1)',
  ]
  for (const text of made) {
    const named = namedTables(`% SELECT 1 FROM ${text}`)
    t.ok(namesLike(named, resource).length > 0 || mayBeMade(named, resource), text)
  }
  const free = [
    '{{ table(x) }}',
    '{{ table(x.lower()) }}',
    "{{ table(x.split(',')[1]) }}",
    "{{ table(String(x, 'orders')) }}",
    "{{ table(('ORD_' + x).lower()) }}",
    "a WHERE b = {{ String(x, 'grd_sales').lower() }}",
    "a WHERE grd_sales = 1 AND b IN (1, 2) AND position('grd_sales', b) > 0",
    'a WHERE b IN (SELECT grd_sales FROM a WHERE grd_sales > 1)',
    'a WHERE has([grd_sales], b) AND (grd_sales) > 1',
    'a -- grd_sales\n WHERE {{ max_threads(2) }} 1',
  ]
  for (const text of free) {
    const named = namedTables(`% SELECT 1 FROM ${text}`)
    t.notOk(namesLike(named, resource).length > 0 || mayBeMade(named, resource), text)
  }
  t.end()
})

t.test('a text with too many branches to go through is cut short, and every word of it may be a table then', (t) => {
  const open = Array.from({ length: 60 }, (_, at) => `{% if o${at} %}({% end %}`).join('')
  const loops = Array.from({ length: 50 }, (_, at) => `{% for a${at} in x %}(`).join('') + '{% end %}'.repeat(50)
  const tries = '{% try %}( {% if x %}1{% end %}'.repeat(40) + '{% except %}){% end %}'.repeat(40)
  for (const text of [open, loops, tries]) {
    const rest = "FROM grd_sales, ev{% if y %}ents{% end %}, {{ table('OLD'.lower()) }}"
    const named = namedTables(`% SELECT ${text} 1 ${rest}`)
    t.equal(named.isCut, true)
    for (const name of ['grd_sales', 'events', 'old']) {
      t.ok(namesLike(named, { id, name }).length > 0 || mayBeMade(named, { id, name }), name)
    }
    t.notOk(namesLike(named, { id, name: 'orders' }).length > 0 || mayBeMade(named, { id, name: 'orders' }))
  }
  const texts = Array.from({ length: 300 }, (_, at) => `{% set t = [t, ${at}, 'x'] + ['y'] %}`).join('')
  const worked = namedTables(`% ${texts} SELECT 1 FROM ${'{{ table((t + "grd").lower()) }}, '.repeat(300)} orders`)
  t.ok(worked.isCut, 'values that take too long')
  t.ok(mayBeMade(worked, { id, name: 'grd_sales' }))
  const columns = Array.from({ length: 300 }, (_, at) => `{% if c${at} %}, {{ column(c${at}) }} AS d${at}{% end %}`)
  t.equal(
    namedTables(`% SELECT 1 ${columns.join('')} FROM orders`).isCut,
    false,
    'many branches that close what they open',
  )
  t.end()
})
