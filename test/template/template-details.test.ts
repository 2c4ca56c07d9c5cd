// What the language's description says in passing, and promises that hold for every template and every value.

import t from 'tap'
import { tokenize } from '../../src/schema/syntax/lexer.ts'
import { ApiError } from '../../src/shared/errors/errors.ts'
import { compileTemplate } from '../../src/template/compile-template.ts'
import { fillSecrets } from '../../src/template/secret-text.ts'
import { defaultTemplateLimits, type ParameterValue, type RenderContext } from '../../src/template/template.types.ts'
import { TemplateError } from '../../src/template/template-error.ts'
import { SeededRandom, testSeed } from '../support/seeded-random.ts'
import { byTier } from '../support/tier.ts'

type Values = Readonly<Record<string, ParameterValue>>

const seed = testSeed()
const run: RenderContext = {
  mode: 'run',
  secret: (name) => (name === 'key' ? 'value' : undefined),
  secretsAs: 'parameters',
}
const check: RenderContext = { ...run, mode: 'check' }

function rendered(source: string, values: Values = {}, context = run): string {
  return compileTemplate(`%${source}`).render(new Map(Object.entries(values)), context).sql
}

function failure(source: string, values: Values = {}, context = run): TemplateError {
  try {
    const sql = rendered(source, values, context)
    throw new Error(`${source} did not fail, but gave ${sql}`)
  } catch (error) {
    if (error instanceof TemplateError) return error
    throw error
  }
}

t.test('tags with words that do not belong there are refused, as `{% else if x %}` is no `elif`', async (t) => {
  for (const source of [
    '{% if a %}1{% else if b %}2{% end %}',
    '{% try x %}{% finally %}{% end %}',
    '{% try %}1{% finally now %}2{% end %}',
    '{% if %}{% end %}',
    '{% if a %}{% elif %}{% end %}',
    '{% for in a %}{% end %}',
    '{% if a %}1{% else %}2{% else %}3{% end %}',
  ]) {
    t.equal(failure(source).message, 'Syntax error: invalid syntax', source)
  }
  t.equal(rendered('{% if a: %}1{% else: %}2{% end %}'), '2')
  t.equal(rendered('{% if 1 %}1{% end if %}'), '1', 'what follows `end` is not read')
})

t.test('JSON() without a value is an empty object, and shortens what it could not read', async (t) => {
  t.equal(rendered('{% for a in JSON(x) %}{{a}}{% end %}.'), '.')
  t.equal(rendered("{{JSON(x).get('a', 'none')}}"), "'none'")
  t.equal(rendered("{{JSON(x, {'a': 1}).get('a')}}"), '1')
  t.equal(
    failure('{{JSON(x)}}', { x: '{"a": 12345678901234}, ' }).message,
    `Template Syntax Error: Error parsing JSON: '{"a": 1234567890...' - Extra data: line 1 column 22 (char 21)`,
  )
  t.equal(
    failure("{{JSON(x, '')}}").message,
    "Template Syntax Error: Error parsing JSON: '' - Expecting value: line 1 column 1 (char 0)",
  )
  const long = 'x'.repeat(900_000)
  t.equal(rendered("{{JSON(x).get('a')}}", { x: JSON.stringify({ a: long }) }), `'${long}'`, 'however long the text')
})

t.test('a name is required when it is typed and has no default of any kind', async (t) => {
  const message = (source: string) => failure(source).message.replace('Template Syntax Error: ', '')
  t.equal(
    message('{{String(a)}}{{Int32(b, c or 5)}}{{Int8(d, None)}}{{DateTime(job_timestamp)}}{{column(e, "x")}}{{f}}'),
    'Required parameter is not defined. Check the parameters a and d. Please provide a value or set a default value in the pipe code.',
  )
  t.equal(rendered('[{{sql_and(a=String(a, None, False), b=Array(b, "Int8", None, False))}}]'), '[]')
})

t.test('errors tell the section of the documentation', async (t) => {
  for (const [source, anchor] of [
    ['{{column(x)}}', '#column'],
    ['{{columns(x)}}', '#columns'],
    ['{{columns([1])}}', '#columns'],
    ['{{sql_and(a__like=1)}}', '#sql_and'],
    ['{{split_to_array(5)}}', '#split_to_array'],
    ["{{day_diff('a', 'b')}}", '#date_diff_in_days'],
    ["{{date_diff_in_hours('a', 'b')}}", '#date_diff_in_hours'],
    ["{{date_diff_in_minutes('a', 'b')}}", '#date_diff_in_minutes'],
    ["{{date_diff_in_seconds('a', 'b')}}", '#date_diff_in_seconds'],
    ['{{String()}}', '#transform-types-functions'],
    ['{{String(x)}}', ''],
    ['{{ 1 + }}', ''],
  ] as const) {
    t.equal(failure(source).documentation, `/cli/advanced-templates.html${anchor}`, source)
  }
})

t.test('what is called and is no function is wrong syntax', async (t) => {
  const text = 'Template Syntax Error: wrong syntax, you might be using a not valid function inside a control block'
  for (const source of ['{{ 5() }}', '{{ x() }}', "{{ 'a'('b') }}", '{{ {[1]: 2} }}', '{{ Int32(a, 0)(a) }}']) {
    t.equal(failure(source, { x: 'a' }).message, text, source)
  }
})

t.test('check mode finds wrong calls in branches that it does not take', async (t) => {
  const source = '\n{% if defined(x) %}{{ whatever(x) }}{% end %}'
  t.equal(rendered(source), '\n')
  const error = failure(source, {}, check)
  t.equal(error.message, "Template Syntax Error: 'whatever' is not a valid function, line 2")
  t.same([error.line, error.column], [2, 23])
})

t.test('check mode takes what has a value later on', async (t) => {
  for (const [source, sql] of [
    ["{% set total = sum(x) %}{{total}} {{Array(x, 'Int32')}}", '0 [0,0]'],
    ["{% for v in x %}{{v}},{% end %}{{x[1]}} {{Array(x, 'Float64')}}", '0.0,0.0,0.0,0.0 [0.0,0.0]'],
    ["{{','.join(x)}} {{Array(x)}}", "'__no_value__,__no_value__,__no_value__' ['']"],
    ["{{'%' + x + '%'}} {{x + 'a'}} {{String(x + 'a')}}", "'__no_value__' '__no_value__' '__no_value__'"],
    ["{% if x == 'a' %}1{% elif x != 'a' %}2{% end %}", '2'],
    ["{{x.get('k', 1)}}{% for a, b in x %}.{% end %}", "'__no_value__'..."],
    ['{{columns(x, "a,b")}} {{column(x, "c")}} {{Symbol(x)}} {{Boolean(x)}}', '`a`,`b` `c` `placeholder` 0'],
    ["{{day_diff(x, y)}} {{date_diff_in_hours(x, y, '%Y', 7)}}", '0 7'],
    ["{{tb_secret('none')}} {{tb_secret('none', 'd')}} {{tb_secret('key', 'd')}}", "{none: String} 'd' {key: String}"],
    ['{% if defined(x) %}{{ error("no") }}{% else %}{{ custom_error({"a": 1}) }}ok{% end %}', 'ok'],
    ["{{Array(x, 'Date')}} {{Array(x, 'UUID')}}", "['2019-01-01'] ['00000000-0000-0000-0000-000000000000']"],
  ] as const) {
    t.equal(rendered(source, {}, check), sql, source)
  }
  t.equal(failure('{{columns(x)}}', {}, check).documentation, '/cli/advanced-templates.html#columns')
})

t.test('parameters stand in the order of their first use, twice when their descriptions differ', async (t) => {
  const parametersOf = (source: string) => compileTemplate(`%${source}`).parameters
  t.same(parametersOf("{{Int32(dup, 1)}} {{String(dup, 'last')}} {{Int32(dup, 1)}}"), [
    { name: 'dup', type: 'Int32', default: 1 },
    { name: 'dup', type: 'String', default: 'last' },
  ])
  t.same(parametersOf('{{Int32(a,0) * Int32(b,10)}} {% if x == "a" and defined(y) %}{% end %}'), [
    { name: 'a', type: 'Int32', default: 0 },
    { name: 'b', type: 'Int32', default: 10 },
    { name: 'x', type: 'String', default: null },
    { name: 'y', type: 'String', default: null, used_in: 'function_call' },
  ])
  t.same(parametersOf('{{symbol(split_to_array(attr, "net")[0] + "_x")}} {{Array(f(z), Int32)}}'), [
    { name: 'attr', type: 'String', default: null, used_in: 'function_call' },
    { name: 'z', type: 'String', default: null, used_in: 'function_call' },
  ])
  t.same(parametersOf("{{Float32(f, -0.1)}} {{Array(l, 'Int16', default='1')}} {{Array(m, 'String', ['a', 'b'])}}"), [
    { name: 'f', type: 'Float32', default: -0.1 },
    { name: 'l', type: 'Array(Int16)', default: '1' },
    { name: 'm', type: 'Array(String)', default: ['a', 'b'] },
  ])
  t.same(
    parametersOf('{{Int64(a, 9007199254740991)}} {{Int64(b, 9223372036854775807)}} {{Int64(c, -9223372036854775808)}}'),
    [
      { name: 'a', type: 'Int64', default: 9007199254740991 },
      { name: 'b', type: 'Int64', default: '9223372036854775807' },
      { name: 'c', type: 'Int64', default: '-9223372036854775808' },
    ],
  )
})

t.test('a table is a name without quotes, unless it is none', async (t) => {
  for (const [name, sql] of [
    ['events', 'events'],
    ['a.b', 'a.b'],
    ['select', '`select`'],
    ['table-name', '`table-name`'],
    ['', '``'],
  ] as const) {
    t.equal(rendered('{{table(x)}}', { x: name }), sql)
  }
})

t.test('a rendered text tells where its secrets stand', async (t) => {
  const spansOf = (source: string, context: RenderContext) => {
    const { sql, secretSpans } = compileTemplate(`%${source}`).render(new Map(), context)
    return secretSpans.map(({ start, end }) => sql.slice(start, end))
  }
  const source =
    "x{{tb_secret('key')}} 'a'{{tb_var('key')}} -- {{tb_secret('key')}}\n{{tb_secret('none', 'd')}}{{String(s, 'e')}}"
  t.same(spansOf(source, run), ['{key: String}', '{key: String}', "'d'"])
  t.same(spansOf(source, { ...run, secretsAs: 'literals' }), ["'value'", "'value'", "'d'"])
  t.same(spansOf("{{tb_secret('none')}}", check), ['{none: String}'])
})

t.test('wrong secrets in settings do not become their value', async (t) => {
  const fill = (text: string) => fillSecrets(text, () => undefined)
  t.equal(
    fill(`A {{ tb_secret("a", "it's") }} B {{tb_secret('b', 9092)}} C {{ tb_secret("c", '') }}`),
    `A it's B 9092 C ""`,
  )
  for (const text of ['A {{ tb_secret(name) }}', 'A {{tb_secret("a" "b")}}', "A {{ tb_secret('a', f()) }}"]) {
    t.throws(() => fill(text), { message: 'Syntax error: invalid syntax', line: 1, column: 3 }, text)
  }
  t.equal(fill('A {{ other("a") }}'), 'A {{ other("a") }}')
})

t.test('no template takes long', { timeout: 60_000 }, async (t) => {
  const half = defaultTemplateLimits.sourceCharactersMax / 2
  const digits = '9'.repeat(2_000)
  for (const [source, values] of [
    ['{{ {{ }}'.repeat(half / 8), {}],
    [`{{"""a'}}`.repeat(half / 9), {}],
    [`{% for i in range(90000) %}{% set s = str(${digits}) %}{% end %}`, {}],
    [`{% for i in range(90000) %}${'{% set s = 1 %}'.repeat(8_000)}{% end %}`, {}],
    [`{% for i in range(90000) %}${'{% if a %}{% end %}'.repeat(8_000)}{% end %}`, {}],
    ['{% for i in range(90000) %}{% try %}{% set a, b = x %}{% except %}{% end %}{% end %}', { x: bigObject() }],
    ['{% for i in range(90000) %}{% set s = str(x) %}{% end %}', { x: 10n ** 100_000n }],
  ] as const satisfies readonly (readonly [string, Values])[]) {
    t.ok(failure(source, values), source.slice(0, 40))
  }
})

function bigObject(): Values {
  return Object.fromEntries(Array.from({ length: 50_000 }, (_, index) => [`k${index}`, index]))
}

const marks = `' '' " \` \\ \\' \\" \\\\ \0 \n \r \t \b \x1a % -- /* */ # // ; {{ }} {% $$ $a$ ) ( , . é ’ ‘ “ ” a 0 = x'41' \u{1f600} \ud800 \u00a0 \u200b \u2212`
const textMarks = [...marks.split(' '), ' ', ' OR 1=1 ', 'select']

function pick<Item>(random: SeededRandom, items: readonly Item[]): Item {
  const [first, ...others] = items
  if (first === undefined) throw new RangeError('nothing to pick from')
  return random.pick([first, ...others])
}

function randomText(random: SeededRandom): string {
  return Array.from({ length: random.below(9) }, () => pick(random, textMarks)).join('')
}

/** The kinds of the tokens, or the refusal of the lexer: the text then never comes to the engine. */
function kindsOf(sql: string): string {
  try {
    return tokenize(sql)
      .map(({ kind }) => kind)
      .join(' ')
  } catch (error) {
    if (error instanceof ApiError) return 'refused'
    throw error
  }
}

t.test(`the text of a parameter is one literal, and its name one identifier (SEED=${seed})`, async (t) => {
  const random = new SeededRandom(seed)
  const literal = ['{{x}}', '{{String(x)}}', "{{String(x, 'd')}}", "{{sql_unescape(String(x), '%')}}", "{{x + ''}}"]
  const name = ['{{symbol(x)}}', '{{Symbol(x)}}', '{{Column(x)}}', '{{columns(x)}}', '{{column(x)}}', '{{table(x)}}']
  const templates = [
    ...literal.map((source) => ({ source, kinds: 'string' })),
    ...name.map((source) => ({ source, kinds: 'name' })),
  ].map((entry) => ({ ...entry, template: compileTemplate(`%${entry.source}`) }))
  let names = 0
  for (let round = 0; round < 20_000; round += 1) {
    const { source, kinds, template } = pick(random, templates)
    // Dots part the levels of a column, commas several columns, and a name without characters is none.
    const text = kinds === 'string' ? randomText(random) : `n${randomText(random).replaceAll(/[.,]/g, '')}`
    const { sql } = template.render(new Map([['x', text]]), run)
    const found = kindsOf(sql)
    // The lexer refuses names with control characters and `%`.
    if (kinds === 'name' && /^(?:quotedName|word|refused)$/.test(found)) {
      if (found !== 'refused') names += 1
      continue
    }
    if (found !== kinds) {
      t.fail(`${source} of ${JSON.stringify(text)} is ${found}: ${sql}`)
      return
    }
  }
  t.ok(names > 1_000, `${names} of the names are names`)
})

const atoms = [
  'x',
  'y',
  'n',
  "'a'",
  '1',
  'None',
  '[1, x]',
  "x + 'b'",
  'Int32(n, 1)',
  'len(y)',
  "x.split(',')",
  'j',
  'y[0]',
]
const calls = [
  'String',
  'Int32',
  'Array',
  'column',
  'symbol',
  'columns',
  'sql_unescape',
  'split_to_array',
  'JSON',
  'defined',
  'str',
  'table',
]

function randomExpression(random: SeededRandom, depth: number): string {
  if (depth === 0 || random.below(3) === 0) return pick(random, atoms)
  const inner = () => randomExpression(random, depth - 1)
  const shapes = [
    () => `${pick(random, calls)}(${inner()})`,
    () => `${pick(random, calls)}(${inner()}, ${inner()})`,
    () => `${inner()} ${pick(random, ['+', '*', '==', 'in', 'and', 'or', '<'])} ${inner()}`,
    () => `(${inner()} if ${inner()} else ${inner()})`,
    () => `sql_and(a=${inner()}, b__in=${inner()})`,
    () => `','.join(${inner()})`,
  ]
  return pick(random, shapes)()
}

/** What may stand around the values. */
const frames = [
  ['', ''],
  ["'", "'"],
  ["'it\\'s -- ", " /* '"],
  ['`', '`'],
  ['"', '"'],
  ['/* ', ' */ 1'],
  ['-- ', '\n1'],
  ["'a'", "'b'"],
] as const

function randomStatement(random: SeededRandom, depth: number): string {
  const expression = () => randomExpression(random, 2)
  if (depth === 0) return `{{${expression()}}},`
  const inner = () => randomStatement(random, depth - 1)
  const shapes = [
    () => `{{${expression()}}},`,
    () => `{% if ${expression()} %}${inner()}{% else %}${inner()}{% end %}`,
    () => `{% for v in ${expression()} %}${inner()}{% end %}`,
    () => `{% set x = ${expression()} %}${inner()}`,
    () => `{% try %}${inner()}{% except %}${inner()}{% end %}`,
  ]
  return pick(random, shapes)()
}

/** Whether the word stands in the SQL outside of literals, quoted names and comments, or the SQL cannot be read at all. */
function isFree(sql: string, word: string): boolean {
  try {
    return tokenize(sql).some(({ kind, text }) => kind !== 'string' && kind !== 'quotedName' && text.includes(word))
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    // Names that the lexer refuses are whole, whatever is in them.
    return !/not allowed in a name|a name has a control character|a name is empty/.test(error.message)
  }
}

t.test(
  `random templates give SQL or a TemplateError, and no value gets out of its quotes (SEED=${seed})`,
  async (t) => {
    const random = new SeededRandom(seed + 1)
    const rounds = byTier({ quick: 1_000, full: 5_000, soak: 500_000 })
    let renderedCount = 0
    let freeWhenQuotedPlainly = 0
    for (let round = 0; round < rounds; round += 1) {
      const [open, close] = pick(random, frames)
      const source = `%SELECT ${open}${randomStatement(random, 3)}${close}, {{x}}`
      // With the semicolon it is no name that `table()` prints without quotes.
      const text = `${randomText(random)};canary${randomText(random)}`
      if (isFree(`SELECT '${text}'`, 'canary')) freeWhenQuotedPlainly += 1
      const sql = renderedOr(source, text)
      if (sql === undefined) continue
      renderedCount += 1
      if (isFree(sql, 'canary')) {
        t.fail(`${JSON.stringify(source)} with ${JSON.stringify(text)} is ${sql}`)
        return
      }
    }
    t.ok(renderedCount > rounds / 5, `${renderedCount} rendered`)
    t.ok(
      freeWhenQuotedPlainly > rounds / 20,
      `the values are hostile: ${freeWhenQuotedPlainly} get out of plain quotes`,
    )
  },
)

/** Undefined when it did not render, which must be a TemplateError. */
function renderedOr(source: string, x: string): string | undefined {
  const values = new Map<string, ParameterValue>([
    ['x', x],
    ['y', [x, x]],
    ['n', '7'],
    ['j', { a: x, b: [1, 2] }],
  ])
  try {
    return compileTemplate(source).render(values, run).sql
  } catch (error) {
    if (error instanceof TemplateError && error.line >= 1 && error.column >= 1) return undefined
    throw error
  }
}
