// Random templates and values, held to one promise: whatever a caller sends arrives in the SQL as values, and the SQL has
// the same tokens for every other value of the same kind. The lexer below is the test's own, after ClickHouse's grammar.

import { query } from 'chdb'
import t from 'tap'
import { readTokens } from '../../src/schema/syntax/lexer.ts'
import { compileTemplate } from '../../src/template/compile-template.ts'
import type { ParameterValue, RenderContext } from '../../src/template/template.types.ts'
import { TemplateError } from '../../src/template/template-error.ts'
import { SeededRandom, testSeed } from '../support/seeded-random.ts'
import { byTier } from '../support/tier.ts'

const seed = testSeed()
const run: RenderContext = { mode: 'run', secret: () => undefined, secretsAs: 'parameters' }

/** A small generator of numbers that are the same for the same seed (mulberry32). */
function randomNumbers(start: number): () => number {
  let state = start
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** The kinds of tokens; a text that is not closed is the kind `open`. Comments and blanks are left out. */
function tokenKinds(sql: string): readonly string[] {
  const kinds: string[] = []
  let rest = sql
  while (rest !== '') {
    const [kind, length] = firstToken(rest)
    if (kind !== 'blank') kinds.push(kind)
    rest = rest.slice(length)
  }
  return kinds
}

function firstToken(text: string): readonly [string, number] {
  const quoted = /^'(?:[^'\\]|\\[\s\S]|'')*'|^`(?:[^`\\]|\\[\s\S]|``)*`|^"(?:[^"\\]|\\[\s\S]|"")*"/.exec(text)
  if (quoted !== null) return [`text ${text.charAt(0)}`, quoted[0].length]
  if (/^['"`]/.test(text)) return ['open', text.length]
  const comment = /^--[^\n]*\n?|^\/\*[\s\S]*?\*\//.exec(text)
  if (comment !== null) return ['blank', comment[0].length]
  if (text.startsWith('/*')) return ['open', text.length]
  const plain = /^\s+|^[A-Za-z0-9_.]+/.exec(text)
  if (plain !== null) return [plain[0].trim() === '' ? 'blank' : `word ${plain[0]}`, plain[0].length]
  return [`sign ${text.charAt(0)}`, 1]
}

const pieces = [
  "'",
  "''",
  '"',
  '`',
  '\\',
  "\\'",
  '\0',
  '\n',
  '\r',
  '\t',
  '\x1a',
  '\b',
  '%',
  '--',
  '-- ',
  '/*',
  '*/',
  '#',
  '# ',
  '//',
  ';',
  '{{',
  '}}',
  '{%',
  '$$',
  '$a$',
  ')',
  '(',
  ',',
  ' OR 1=1 ',
  'é',
  '\u2019',
  '\u2018',
  '\ud83d\ude00',
  '\ud800',
  '\u00a0',
  'a',
  '0',
  ' ',
  'x',
]

function randomText(random: () => number): string {
  return Array.from(
    { length: Math.floor(random() * 8) },
    () => pieces[Math.floor(random() * pieces.length)] ?? '',
  ).join('')
}

const printed = [
  '{{x}}',
  '{{String(x)}}',
  "{{String(x, 'd')}}",
  '{{Array(y)}}',
  "{{Array(y, 'String')}}",
  '{{column(x)}}',
  '{{symbol(x)}}',
  '{{Symbol(x)}}',
  "{{sql_unescape(String(x), '%')}}",
  '{{sql_unescape(x)}}',
  '{{sql_unescape(x, "\'")}}',
  "{{sql_unescape(x, '\\\\')}}",
  '{{sql_and(a=x, b__in=Array(y))}}',
  "{{split_to_array(x, separator='|')}}",
  "{{x + '!'}}",
  '{{x.upper()}}',
  '{{[x, 1]}}',
  "{{','.join([x, x])}}",
  '{{DateTime(d)}}',
  "{{column(x, 'c')}}",
  '{{x[0:3]}}',
]
const frames: readonly (readonly [string, string])[] = [
  ['SELECT ', ' FROM a'],
  ["SELECT '", "' FROM a"],
  ['SELECT `', '` FROM a'],
  ['SELECT "', '" FROM a'],
  ["SELECT '-- ", " /* ' FROM a"],
  ["SELECT 'it\\'s ", "' FROM a"],
  ["SELECT 'it''s ", "' FROM a"],
  ["SELECT 'a'", "'b' FROM a"],
  ['SELECT 1 -- ', '\nFROM a'],
  ['SELECT 1 /* ', ' */ FROM a'],
  ['SELECT 1 /*', '*/ FROM a'],
  ['SELECT 1 /* /* ', ' */ FROM a'],
  ['SELECT x', 'y FROM a'],
  ['{% if x %}', '{% end %}'],
  ['{% for v in [1, 2] %}', ', {% end %} 1'],
  ["{% set x = x + '' %}", ''],
]

/** The tokens of a template for one set of values, without the words, which differ in `toString`. */
function tokensWith(source: string, text: string): readonly string[] {
  const values = new Map<string, ParameterValue>([
    ['x', text],
    ['y', [text, text]],
    ['d', `2024-01-01 00:00:00${text}`],
  ])
  return tokenKinds(compileTemplate(source).render(values, run).sql)
}

t.test(`no value changes the tokens of a query (SEED=${seed})`, async (t) => {
  const random = randomNumbers(seed)
  let count = 0
  for (let round = 0; round < 6_000; round += 1) {
    const [before, after] = frames[Math.floor(random() * frames.length)] ?? ['', '']
    const value = printed[Math.floor(random() * printed.length)] ?? ''
    const source = `%${before}${value}${after} {{x}}`
    // Empty texts are false, and dots part columns: both are the template's own branches, so neither side has them.
    const text = `w${randomText(random)}`
    const separated = text.replaceAll('|', '')
    const found = tokensWith(source, separated)
    const expected = tokensWith(source, 'w')
    count += 1
    if (JSON.stringify(found) !== JSON.stringify(expected)) {
      t.same(found, expected, `${JSON.stringify(source)} with ${JSON.stringify(separated)}`)
      return
    }
  }
  t.equal(count, 6_000)
})

t.test(`the text of a parameter is one literal with the same value (SEED=${seed})`, async (t) => {
  const random = randomNumbers(seed + 1)
  const unescaped: Readonly<Record<string, string>> = { '0': '\0', r: '\r', b: '\b', t: '\t', z: '\x1a', n: '\n' }
  const template = compileTemplate('%{{String(x)}}')
  for (let round = 0; round < 3_000; round += 1) {
    const text = randomText(random)
    const { sql } = template.render(new Map([['x', text]]), run)
    const inner = sql.slice(1, -1).replaceAll(/\\([\s\S])/g, (_pair, mark: string) => unescaped[mark] ?? mark)
    if (tokenKinds(sql).join() !== "text '" || inner !== text) {
      t.same([sql, inner], [null, text])
      return
    }
  }
  t.pass('all are')
})

t.test(`the engine reads what was sent, wherever it stands (SEED=${seed})`, async (t) => {
  const random = randomNumbers(seed + 3)
  const template = compileTemplate(
    "%SELECT {{String(x)}} AS alone, '{{x}}' AS quoted, 1 -- {{x}}\n, /* {{x}} */ {{Array(y)}} AS texts, {{z}} AS list",
  )
  for (let round = 0; round < 100; round += 1) {
    // The engine keeps the backslash of `\%` and `\z`, and lone surrogates are no text.
    const x = [',', '%', '\x1a', '\ud800'].reduce((text, mark) => text.replaceAll(mark, ''), randomText(random))
    const values = new Map<string, ParameterValue>([
      ['x', x],
      ['y', [x, 'b']],
      ['z', ['p', x]],
    ])
    const row: unknown = JSON.parse(query(template.render(values, run).sql, 'JSONEachRow'))
    t.same(row, { alone: x, quoted: x, '1': 1, texts: [x, 'b'], list: ['p', x] }, JSON.stringify(x))
  }
})

const fragments = [
  '{{',
  '}}',
  '{%',
  '%}',
  '{#',
  '#}',
  '{% end %}',
  '{% else %}',
  '{% if x %}',
  '{% for a in y %}',
  '{% while x %}',
  '{% set a = ',
  '{% try %}',
  '{% except %}',
  '{% break %}',
  'x',
  'y',
  '(',
  ')',
  '[',
  ']',
  '{',
  '}',
  ',',
  ':',
  '.',
  "'",
  '"',
  '1',
  '2.5',
  ' + ',
  ' * ',
  ' % ',
  ' // ',
  ' - ',
  ' in ',
  ' not ',
  ' and ',
  ' or ',
  ' if ',
  ' else ',
  '==',
  '<',
  'String(',
  'Array(',
  'Int32(',
  'JSON(',
  '.get(',
  '.split(',
  '.join(',
  'len(',
  'range(',
  'column(',
  'columns(',
  'sql_and(a__in=',
  'default=',
  'None',
  'True',
  "'a'",
  '\n',
  '\\',
  ' ',
  'max_threads(',
  'date_diff_in_days(',
]

t.test(`no text crashes the compiler or the renderer (SEED=${seed})`, async (t) => {
  const random = randomNumbers(seed + 2)
  let rendered = 0
  for (let round = 0; round < 20_000; round += 1) {
    const length = 1 + Math.floor(random() * 12)
    const inner = Array.from({ length }, () => fragments[Math.floor(random() * fragments.length)] ?? '').join('')
    const source = random() < 0.5 ? `%${inner}` : `%{{${inner}}}`
    const values = new Map<string, ParameterValue>([
      ['x', randomText(random)],
      ['y', [randomText(random), 1, { a: null }]],
    ])
    const mode = random() < 0.5 ? 'run' : 'check'
    try {
      compileTemplate(source).render(random() < 0.7 ? values : new Map(), { ...run, mode })
      rendered += 1
    } catch (error) {
      if (error instanceof TemplateError && error.line >= 1 && error.column >= 1) continue
      t.fail(`${JSON.stringify(source)}: ${String(error)}`)
      return
    }
  }
  t.ok(rendered > 100, `${rendered} of them rendered`)
})

t.test('a template cut anywhere fails cleanly or renders', async (t) => {
  const source =
    "%\nSELECT {{Array(x, 'Int32', '1,2')}} {# c #}{% if defined(y) and y != 'a' %}{% for a, b in [(1, '}')] %}{{a}}{% end %}{% elif y %}'{{y}}'{% end %}"
  for (let cut = 0; cut <= source.length; cut += 1) {
    try {
      compileTemplate(source.slice(0, cut)).render(new Map(), run)
    } catch (error) {
      if (!(error instanceof TemplateError)) t.fail(`cut at ${cut}: ${String(error)}`)
    }
  }
  t.equal(compileTemplate(source).render(new Map([['y', 'b']]), run).sql, '\nSELECT [1,2] 1')
})

t.test(`whatever stands around it, a value is what the lexer of queries takes for one (SEED=${seed})`, async (t) => {
  const around = (
    "a|x|$x$|$$|$|x$|$1$|1$|'|\"|`|''|\\\\| |\n|--|//|/*|*/|# |#|#!|1|0x|_|-|/|*|(|,|.|;|é|\u2018|\u2019|{{sql_and(a=n)}}|" +
    "{{Integer(i, 5)}}|{{table('u')}}|{{column('c')}}|{{String(v)}}"
  ).split('|')
  const values = [
    "') UNION SELECT 1 --",
    '$x$ , b',
    '$$ b',
    '*/ b /*',
    "a'b",
    '`',
    '"',
    '\\',
    '$x$',
    '*/',
    '-- b',
    '\u2019 b',
  ]
  const random = new SeededRandom(seed)
  const piece = (): string =>
    Array.from({ length: random.below(8) }, () => around[random.below(around.length)]).join('')
  const value = '{{String(v)}}'
  const found = [`%a$x$ ' $x$ ${value}`, `%x$1$"0$1${value}''"b${value}$1$1`]
  const count = byTier({ quick: 600, full: 10_000, soak: 2_000_000 })
  let readCount = 0
  for (const template of [...found, ...Array.from({ length: count }, () => `%${piece()}{{String(v)}}${piece()}`)]) {
    const kinds = kindsByLexer(template, 'b')
    for (const sent of values) {
      const others = kindsByLexer(template, sent)
      // A text that the lexer refuses goes no further.
      if (others === null) continue
      readCount += 1
      if (others !== kinds) t.equal(others, kinds, JSON.stringify([template, sent]))
    }
  }
  t.ok(readCount > count, `${readCount} texts`)
})

/** Null for what is refused by the template or by the lexer. */
function kindsByLexer(template: string, value: string): string | null {
  try {
    const { sql } = compileTemplate(template).render(new Map([['v', value]]), run)
    return readTokens(sql)
      .map(({ kind, text }) => (kind === 'string' || kind === 'quotedName' ? kind : text))
      .join(' ')
  } catch {
    return null
  }
}
