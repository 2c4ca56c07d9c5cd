// Random templates that read a data source in a branch alone, with its name spelled in one of the many ways that there are.

import type { SeededRandom } from './seeded-random.ts'

export interface BranchCase {
  readonly sql: string
  /** With these the branch is taken, and the node gives a column `c` of one row, which is 1 when the table was read. */
  readonly values: string
  readonly source: 'grd_sales' | 'grd_join'
  /** Whether the id stands there, which a rename leaves. */
  readonly isById: boolean
}

/** What stands in front of a query, and a table's name in it. */
interface Spelling {
  readonly before: string
  readonly name: string
  readonly after?: string
}

/** Values that a caller sends with the branch. */
const values = 'go=1&tail=sales&mixed=Q_SALES&end=9'

export function branchCase(random: SeededRandom, id: string): BranchCase {
  const isJoin = random.below(12) === 0
  const isById = !isJoin && random.below(10) === 0
  const source = isJoin ? 'grd_join' : 'grd_sales'
  const spelling = isById ? spelledId(random, id) : isJoin ? spelledText(random) : spelledName(random)
  const query = isJoin ? joined(random, spelling.name) : placed(random, spelling.name)
  const branch = `${spelling.before}${query}${spelling.after ?? ''}`
  return { sql: `% ${inBranch(random, branch)}`, values, source, isById }
}

/** The text of an expression of the template that gives the name. */
function nameExpression(random: SeededRandom, name: string, depth = 2): string {
  const [head = '', tail = ''] = name.split(/(?<=_)/)
  const inner = (): string => (depth > 0 ? nameExpression(random, name, depth - 1) : `'${name}'`)
  const reversed = [...name].reverse().join('')
  return random.pick<() => string>([
    () => `'${name}'`,
    () => `'${name.toUpperCase()}'.lower()`,
    () => `'${head.toUpperCase()}${tail}'.lower()`,
    () => `'_'.join(['${head.slice(0, -1)}', '${tail}'])`,
    () => `''.join(['${head}', '${tail}'])`,
    () => `'x${name}y'[1:-1]`,
    () => `'${name}_2024'[:${name.length}]`,
    () => `'${name}_2024'[:Int(end, 3)]`,
    () => `'${reversed}'[::-1]`,
    () => `'other,${name}'.split(',')[1]`,
    () => `'${name} other'.split()[0]`,
    () => `split_to_array('other, ${name}')[1]`,
    () => `'${name.replace('_', '-')}'.replace('-', '_')`,
    () => `' ${name} '.strip()`,
    () => `'xx${name}'.lstrip('x')`,
    () => `'${head}' + '${tail}'`,
    () => `'${head}' + String(tail, 'orders')`,
    () => `'${head}' + tail`,
    () => `('${head.toUpperCase()}' + tail).lower()`,
    () => `'_'.join(['${head.slice(0, -1)}', tail])`,
    () => `mixed.lower().replace('q', '${head.slice(0, -1)}')`,
    () => `mixed.replace('Q', '${head.slice(0, -1)}').lower()`,
    () => `'${head}' + mixed[2:].lower()`,
    () => `{'k': '${name}', 'l': 'other'}['k']`,
    () => `{'1': '${name}'}.get(go, 'other')`,
    () => `{'1': '${name}'}[go]`,
    () => `['other', '${name}'][1]`,
    () => `['other', '${name}'][int(go)]`,
    () => `sorted(['${name}', 'zzz'])[0]`,
    () => `min('${name}', 'zzz')`,
    () => `str('${name}')`,
    () => `String(nothing, '${name}')`,
    () => `String(nothing, ${inner()})`,
    () => `(${inner()}).strip()`,
    () => `(${inner()} if defined(go) else 'other')`,
    () => `[${inner()}][0]`,
    () => `(${inner()} + '')`,
    () => `(${inner()}).upper().lower()`,
    () => `(nothing or ${inner()})`,
    () => `(go and ${inner()})`,
    () => `list(${inner()})[0] + (${inner()})[1:]`,
    () => `max([${inner()}, ''])`,
  ])()
}

function spelledName(random: SeededRandom): Spelling {
  const name = 'grd_sales'
  const expression = (): string => nameExpression(random, name)
  const print = (text: string): string =>
    random.pick([
      `{{ table(${text}) }}`,
      `{{table(${text})}}`,
      `{{ TABLE(${text}) }}`,
      `{{ symbol(${text}) }}`,
      `{{ column(${text}, 'x') }}`,
      `{{ Symbol(${text}) }}`,
      `{{ columns(${text}, 'x') }}`,
      `\`{{ ${text} }}\``,
      `"{{ ${text} }}"`,
      `\`{{ String(nothing, ${text}) }}\``,
      `{{ [table(${text})][0] }}`,
      `{{ {'k': symbol(${text})}['k'] }}`,
      `{{ table(${text}) if defined(go) else column('x') }}`,
    ])
  const plain = (text: string): Spelling => ({ before: '', name: text })
  return random.pick<() => Spelling>([
    () =>
      plain(
        random.pick([
          'grd_sales',
          '`grd_sales`',
          '"grd_sales"',
          'grd_sales__v1',
          'grd_{# c #}sales',
          "grd_{% if go == '1' %}sales{% else %}orders{% end %}",
          '{% if defined(go) %}grd_{% end %}sales',
          '`grd_{% if defined(go) %}sales{% end %}`',
          '{{max_threads(2)}}grd_sales',
          'grd_sales{{max_threads(2)}}',
          "{{cache_ttl('5s')}} grd_sales",
          'grd_{{ table(tail) }}',
          "{{ table('grd_') }}{{ table('sales') }}",
          "{{ table('grd_') }}sales",
          '`grd_{{ tail }}`',
          '{{ sql_and(x=nothing) }} grd_sales',
        ]),
      ),
    () => plain(print(expression())),
    () => plain(print(expression())),
    () => ({ before: `{% set t = ${expression()} %}`, name: print('t') }),
    () => ({ before: `{% set t = 'other' %}{% set t = ${expression()} %}`, name: print('t') }),
    () => ({ before: `{% set t = 'GRD' %}{% set u = t.lower() %}`, name: print("u + '_' + tail") }),
    () => ({ before: "{% set t = 'grd' %}{% set t = t + '_sales' %}", name: print('t') }),
    () => ({ before: `{% set t, u = ['grd', 'sales'] %}`, name: print("t + '_' + u") }),
    () => ({ before: `{% set t = table(${expression()}) %}`, name: '{{ t }}' }),
    () => ({ before: `{% for t in [${expression()}] %}`, name: print('t'), after: '{% end %}' }),
    () => ({ before: `{% for t in ['GRD_SALES'] %}`, name: print('t.lower()'), after: '{% end %}' }),
    () => ({ before: `{% for t, u in [('grd', 'sales')] %}`, name: print("t + '_' + u"), after: '{% end %}' }),
    () => ({ before: `{% for i, t in enumerate([${expression()}]) %}`, name: print('t'), after: '{% end %}' }),
    () => ({ before: `{% for t in {'grd_sales': 1} %}`, name: print('t'), after: '{% end %}' }),
    () => ({ before: `{% for k, t in {'k': 'sales'}.items() %}`, name: print("'grd_' + t"), after: '{% end %}' }),
    () => ({
      before: `{% for t in ['other', ${expression()}] %}{% if t != 'other' %}`,
      name: print('t'),
      after: '{% end %}{% end %}',
    }),
    () => ({
      before: `{% for t in 'grd,sales'.split(',') %}{% set u = (u or '') + t + '_' %}{% end %}`,
      name: print('u[:-1]'),
    }),
    () => ({ before: `{% set d = {'1': ${expression()}} %}`, name: print('d[go]') }),
    () => ({ before: `{% set d = {'1': ${expression()}} %}`, name: print("d.get(go, 'x')") }),
  ])()
}

/** The first argument of `joinGet`. */
function spelledText(random: SeededRandom): Spelling {
  const name = 'grd_join'
  const expression = nameExpression(random, 'grd_join').replaceAll('tail', "'join'").replaceAll('mixed', "'Q_JOIN'")
  return random.pick<Spelling>([
    { before: '', name: `'${name}'` },
    { before: '', name },
    { before: '', name: `\`${name}\`` },
    { before: '', name: "'grd_{% if defined(go) %}join{% end %}'" },
    { before: '', name: "'grd\\x5fjoin'" },
    { before: '', name: '$$grd_join$$' },
    { before: '', name: `{{ ${expression.replace('end, 3', 'nothing, 8')} }}` },
    { before: `{% set t = ${expression.replace('end, 3', 'nothing, 8')} %}`, name: "'{{ t }}'" },
  ])
}

function spelledId(random: SeededRandom, id: string): Spelling {
  const label = id.replace('t_', 't_.some_label.')
  return random.pick<Spelling>([
    { before: '', name: id },
    { before: '', name: `\`${id}\`` },
    { before: '', name: label },
    { before: '', name: `\`${label}\`` },
    { before: '', name: `{{ table('${id}') }}` },
    { before: '', name: `{{ table('${label}') }}` },
    { before: '', name: `{{ table('${id.toUpperCase()}'.lower()) }}` },
    { before: `{% set t = '${id.slice(2)}' %}`, name: "{{ table('t_' + t) }}" },
    { before: '', name: `{{ table('${id.slice(0, 20)}' + '${id.slice(20).toUpperCase()}'.lower()) }}` },
  ])
}

function joined(random: SeededRandom, table: string): string {
  const join = random.pick(['joinGet', '`joinGet`', 'joinGetOrNull', '"joinGet"'])
  return `SELECT ${join}(${table}, 'v', toUInt64(1)) < 99 AS c`
}

/** A query that is of one row with `c = 1` when it reads the table, which has one row with `a = 42`. */
function placed(random: SeededRandom, table: string): string {
  const member = (): string =>
    random.pick([
      `42 IN ${table}`,
      `42 IN (${table})`,
      `42 IN ((${table}))`,
      `42 IN ( ${table} AS s)`,
      `42 GLOBAL IN (${table})`,
      `NOT 42 NOT IN (${table})`,
      `in(42, ${table})`,
      `in(42, (${table}))`,
      `\`in\`(42, ${table})`,
      `"in"(42, ${table})`,
      `\`in\`(42, (${table}))`,
      `"globalIn"(42, ${table})`,
      `globalIn(42, ${table})`,
      `NOT \`notIn\`(42, ${table})`,
      `NOT notIn(42, ${table})`,
      `NOT in(43, ${table})`,
      `nullIn(42, (${table}))`,
      `42 IN (SELECT a FROM ${table})`,
      `{{column('in')}}(42, ${table})`,
    ])
  const worded = (): string =>
    random.pick([
      `substring('ab', ${member()}) = 'ab'`,
      `substr('ab', ${member()}) = 'ab'`,
      `mid('ab', ${member()}) = 'ab'`,
      `substring('ab', ${member()}, 1) = 'a'`,
      `substring('ab' FROM ${member()}) = 'ab'`,
      `substring('ab' FROM 1 FOR ${member()}) = 'a'`,
      `overlay('abc', 'X', ${member()}) = 'Xbc'`,
      `overlay('abc' PLACING 'X' FROM ${member()}) = 'Xbc'`,
      `position('ab', 'a', ${member()}) = 1`,
      `position('a' IN toString(if(${member()}, 'a', 'b'))) = 1`,
      `trim(toString(${member()})) = '1'`,
      `extract(toString(${member()}), '1') = '1'`,
      `extract(YEAR FROM toDate('2024-12-31') + (${member()})) = 2025`,
    ])
  return random.pick<() => string>([
    () => `SELECT count() AS c FROM ${table}`,
    () => `SELECT count() AS c FROM (${table} AS s CROSS JOIN numbers(1) AS n)`,
    () => `SELECT count() AS c FROM ${table} AS s`,
    () => `FROM ${table} SELECT count() AS c`,
    () => `SELECT count() AS c FROM numbers(1) AS n, ${table} AS s`,
    () => `SELECT count() AS c FROM numbers(1) AS n CROSS JOIN ${table} AS s`,
    () => `SELECT count() AS c FROM (numbers(1) AS n JOIN ${table} AS s ON 1)`,
    () => `SELECT (SELECT count() FROM ${table}) AS c`,
    () => `SELECT count() AS c FROM numbers(1) AS n JOIN numbers(1) AS m USING (number), ${table} AS s`,
    () => `SELECT count() AS c FROM numbers(1) AS n JOIN numbers(1) AS m ON n.number = m.number, ${table} AS s`,
    () => `SELECT NOT distinct AS c FROM (SELECT a = 1 AS distinct FROM ${table})`,
    () => `WITH q AS (SELECT count() AS c FROM ${table}) SELECT c FROM q`,
    () => `SELECT c FROM view(SELECT count() AS c FROM ${table})`,
    () => `SELECT * FROM (SELECT 0 AS c WHERE 0 UNION ALL SELECT count() AS c FROM ${table})`,
    () => `SELECT {{column('c')}}FROM (SELECT 1 AS c, count() AS n FROM ${table})`,
    () => `SELECT ${member()} AS c`,
    () => `SELECT ${member()} AS c`,
    () => `SELECT 1 AS c WHERE ${member()}`,
    () => `SELECT if(${member()}, 1, 0) AS c`,
    () => `SELECT arrayMap(x -> ${member()}, [42])[1] AS c`,
    () => `SELECT CASE WHEN ${member()} THEN 1 ELSE 0 END AS c`,
    () => `SELECT ${worded()} AS c`,
    () => `SELECT ${worded()} AS c`,
  ])()
}

/** The text in a branch that is not taken without values, among others. */
function inBranch(random: SeededRandom, branch: string): string {
  const nothing = 'SELECT 0 AS c'
  const open = Array.from({ length: random.pick([3, 15, 40]) }, (_, at) => `{% if o${at} %}({% end %}`).join('')
  const close = open.replaceAll('(', ')')
  return random.pick<() => string>([
    () => `{% if defined(go) %}${branch}{% else %}${nothing}{% end %}`,
    () => `{% if go == '1' %}${branch}{% else %}${nothing}{% end %}`,
    () => `{% if not defined(go) %}${nothing}{% elif go == '1' %}${branch}{% else %}SELECT 2{% end %}`,
    () => `{% if defined(go) %}{% if go %}${branch}{% end %}{% else %}${nothing}{% end %}`,
    () =>
      `{% for i in range(1 if defined(go) else 0) %}${branch}{% else %}{% if not defined(go) %}${nothing}{% end %}{% end %}`,
    () => `{% try %}{% if not defined(go) %}${nothing}{% else %}${branch}{% end %}{% except %}SELECT 3{% end %}`,
    () => `SELECT c FROM ( {% if defined(go) %}${branch}{% else %}${nothing}{% end %} ) AS o`,
    () => `{% if defined(go) %}SELECT c FROM (${branch}) WHERE ${open} 1 ${close}{% else %}${nothing}{% end %}`,
    () => `{% if defined(go) %}SELECT ${open}1${close} AS k, c FROM (${branch}){% else %}${nothing}{% end %}`,
  ])()
}
