// The two readers of ClickHouse text: what each takes and refuses, and that both see the same ends, which are the engine's.

import t from 'tap'
import { readTokens, tokenize } from '../../../src/schema/syntax/lexer.ts'
import { stringValue } from '../../../src/schema/syntax/string-value.ts'
import { readTextTokens } from '../../../src/schema/syntax/text-tokens.ts'
import { EngineSession } from '../../support/catalog/engine-session.ts'
import { SeededRandom, testSeed } from '../../support/seeded-random.ts'
import { byTier } from '../../support/tier.ts'

function queryTexts(text: string): readonly string[] {
  return readTokens(text).map(({ kind, text: written }) => `${kind} ${written}`)
}

function definitionTexts(text: string): readonly string[] {
  return readTextTokens(text).map(({ kind, text: written }) => `${kind} ${written}`)
}

t.test('a query is words, names, strings, numbers and symbols, each with its place', async (t) => {
  t.same(readTokens('SELECT a1, `b c`'), [
    { kind: 'word', text: 'SELECT', name: 'SELECT', key: 'SELECT', offset: 0, isSpaced: false },
    { kind: 'word', text: 'a1', name: 'a1', key: 'A1', offset: 7, isSpaced: true },
    { kind: 'symbol', text: ',', name: ',', key: ',', offset: 9, isSpaced: false },
    { kind: 'quotedName', text: '`b c`', name: 'b c', key: '', offset: 11, isSpaced: true },
  ])
  for (const [text, ...expected] of [
    [''],
    [' \t\r\n\f\v'],
    ["'it''s' 'a\\'b' ''", "string 'it''s'", "string 'a\\'b'", "string ''"],
    ["x'41' B'01' abc'x'", "string x'41'", "string B'01'", 'word abc', "string 'x'"],
    ['"a""b" `c``d` "e`f"', 'quotedName `a"b`', 'quotedName `c\\`d`', 'quotedName `e\\`f`'],
    ["$$it's$$ $tag$a$b$tag$", "string 'it\\'s'", "string 'a$b'"],
    ['.5 1.5 1e-3 0x1F 0b11 1_000 1.', ...numbers('.5', '1.5', '1e-3', '0x1F', '0b11', '1_000', '1.')],
    ['1st a$b _', 'word 1st', 'word a$b', 'word _'],
    ['t.1.2', 'word t', 'symbol .', 'number 1', 'symbol .', 'number 2'],
    ['a<=>b->c::d||e!=f', ...['a', '<=>', 'b', '->', 'c', '::', 'd', '||', 'e', '!=', 'f'].map(wordOrSymbol)],
    ['a -- b\nc // d\ne # f\ng #! h\ni /* j /* k */ */ l', ...['a', 'c', 'e', 'g', 'i', 'l'].map(wordOrSymbol)],
    ['a\u00a0b\ufeffc', ...['a', 'b', 'c'].map(wordOrSymbol)],
    ['a-- b', 'word a'],
    ['a/b*c-d', ...['a', '/', 'b', '*', 'c', '-', 'd'].map(wordOrSymbol)],
  ] as readonly (readonly [string, ...string[]])[]) {
    t.same(queryTexts(text), expected, text)
  }
})

function numbers(...texts: readonly string[]): readonly string[] {
  return texts.map((text) => `number ${text}`)
}

function wordOrSymbol(text: string): string {
  return `${/^\w/.test(text) ? 'word' : 'symbol'} ${text}`
}

t.test('a query is refused where it is more than the engine should read', async (t) => {
  for (const [text, reason, offset] of [
    ['SELECT \0', 'a NUL character is not allowed', 7],
    ["SELECT '\0'", 'a NUL character is not allowed', 8],
    ['a /* \0 */', 'a NUL character is not allowed', 5],
    ["a 'b", "the quote ' is not closed", 2],
    ["a 'b\\'", "the quote ' is not closed", 2],
    ['a `b', 'the quote ` is not closed', 2],
    ["a x'4", "the quote ' is not closed", 3],
    ['a /* b /* c */', 'the comment is not closed', 2],
    ['a /*/', 'the comment is not closed', 2],
    ['a $t$ b', 'the heredoc $t$ is not closed', 2],
    ['a $b', 'a heredoc begins with $tag$, and a name with a letter', 2],
    ['1.5st', 'a number ends in letters', 0],
    ['``', 'a name is empty', 0],
    ['`a\\nb`', 'the escape \\n is not allowed in a name', 0],
    ['`a\tb`', 'a name has a control character', 0],
    ['‘a’', 'unexpected character "‘"', 0],
    ['“a”', 'unexpected character "“"', 0],
    ['a 😀', 'unexpected character "😀"', 2],
    ['a #b', 'unexpected character "#"', 2],
    ['{a:String}', 'query parameters are not supported', 0],
    ['{{a}}', 'this is template syntax, and only a query that begins with % is a template', 0],
    ['@@version', 'global variables are not supported', 0],
    ['a \\ b', 'unexpected character "\\\\"', 2],
  ] as const) {
    t.throws(() => readTokens(text), { name: 'SqlFault', reason, offset }, JSON.stringify(text))
  }
  t.throws(() => tokenize("SELECT 1,\n 'x"), {
    code: 'SQL_INVALID',
    message: /Syntax error at line 2, column 2: the quote ' is not closed/,
  })
})

t.test('a definition is single characters and words, and its last token is the end', async (t) => {
  t.same(readTextTokens(' a /* b */ "c"'), [
    { kind: 'word', text: 'a', value: 'a', offset: 1, endOffset: 2, isAfterComment: false },
    { kind: 'quotedName', text: '"c"', value: 'c', offset: 11, endOffset: 14, isAfterComment: true },
    { kind: 'end', text: '', value: '', offset: 14, endOffset: 14, isAfterComment: false },
  ])
  for (const [text, ...expected] of [
    ['', 'end '],
    ['1.5', 'number 1', 'symbol .', 'number 5', 'end '],
    ['1st 0x1F', 'number 1st', 'number 0x1F', 'end '],
    ['a||b', 'word a', 'symbol |', 'symbol |', 'word b', 'end '],
    ['$a$', 'symbol $', 'word a', 'symbol $', 'end '],
    ['a$b', 'word a', 'symbol $', 'word b', 'end '],
    ['a // b', 'word a', 'symbol /', 'symbol /', 'word b', 'end '],
    ['#a # b\n#! c\n-- d\ne', 'symbol #', 'word a', 'word e', 'end '],
    ['/* a /* b */ c /*/ d */', 'word c', 'end '],
    ['‘é😀\u00a0', 'symbol ‘', 'symbol é', 'symbol 😀', 'symbol \u00a0', 'end '],
    ["'a''b' 'c\\'d'", "string 'a''b'", "string 'c\\'d'", 'end '],
  ] as const) {
    t.same(definitionTexts(text), expected, text)
  }
  t.same(
    readTextTokens('\'a\'\'b\\n\\x41\\q\' `c``d\\`e` "f""g"').map(({ value }) => value),
    ["a'b\nA\\q", 'c`d`e', 'f"g', ''],
  )
})

t.test('a definition is refused where the two readers or the engine could differ', async (t) => {
  for (const [text, reason, offset] of [
    ['a \0', 'NUL character', 2],
    ["'\0'", 'NUL character', 1],
    ["'\0", 'NUL character', 1],
    ["a 'b", "Quote ' without its end", 2],
    ["'a\\'", "Quote ' without its end", 0],
    ['a "b', 'Quote " without its end', 2],
    ['a /* b', 'Comment without its end */', 2],
    ['a /*/', 'Comment without its end */', 2],
    ["x'41'", "Text in quotes directly after 'x'", 1],
    ["1'a'", "Text in quotes directly after '1'", 1],
    ["'\\xff'", 'Escape \\x must be followed by two hex digits from 00 to 7f', 1],
    ["a '\\x4'", 'Escape \\x must be followed by two hex digits from 00 to 7f', 3],
  ] as const) {
    t.throws(() => readTextTokens(text), { name: 'TextError', reason, offset }, JSON.stringify(text))
  }
})

const seed = testSeed()

/** What both readers take for the same; what begins a comment for one alone, `//`, is left out. */
const pieces = [
  ...[
    "'",
    '"',
    '`',
    '\\',
    "''",
    '``',
    "\\'",
    '/*',
    '*/',
    '/**/',
    '*',
    '--',
    '-',
    '#',
    '# ',
    '#!',
    '\n',
    ' ',
    '\t',
    '\r\n',
  ],
  ...[
    'a',
    '_x1',
    'x',
    '12',
    '.',
    ',',
    '(',
    ')',
    '[',
    ']',
    '=',
    ':',
    "'b'",
    '`c`',
    '"d"',
    "'\\\\'",
    "'é😀'",
    "' -- '",
    "'/*'",
  ],
] as const

t.test(`both readers see the same strings and names (SEED=${seed})`, async (t) => {
  const random = new SeededRandom(seed)
  let bothCount = 0
  for (let count = byTier({ quick: 50_000, full: 120_000, soak: 5_000_000 }); count > 0; count -= 1) {
    const text = randomText(random)
    const [query, definition] = [quotedOf(() => readTokens(text)), quotedOf(() => readTextTokens(text))]
    if (query === null || definition === null || hasSlashes(text)) continue
    bothCount += 1
    if (query.join() !== definition.join()) t.same(query, definition, JSON.stringify(text))
  }
  t.ok(bothCount > 1_000, `${bothCount} texts are taken by both`)
})

function randomText(random: SeededRandom): string {
  return Array.from({ length: 1 + random.below(12) }, () => random.pick(pieces)).join('')
}

/** A comment in a comment, and slashes that are one for queries alone. */
function hasSlashes(text: string): boolean {
  return text.includes('//') || text.split('/*').length > 2
}

/** Offsets of quoted texts; null when the text is refused. */
function quotedOf(read: () => readonly { readonly kind: string; readonly offset: number }[]): readonly number[] | null {
  try {
    return read()
      .filter(({ kind }) => kind === 'string' || kind === 'quotedName')
      .map(({ offset }) => offset)
  } catch {
    return null
  }
}

t.test(`strings and comments end where the engine ends them (SEED=${seed})`, async (t) => {
  const session = new EngineSession()
  t.teardown(() => session.close())
  const random = new SeededRandom(seed)
  const separators = [
    ' ',
    '\n',
    '/* ; */',
    '/*/**/*/',
    "-- '\n",
    "# '\n",
    "#! '\n",
    "// '\n",
    '\u00a0',
    '/* " */',
  ] as const
  const inner = [
    "''",
    "\\'",
    '\\\\',
    '\\n',
    '\\q',
    '"',
    '`',
    '--',
    '/*',
    '*/',
    '//',
    '# ',
    '\n',
    'é',
    '😀',
    '$$',
    'a',
  ] as const
  for (let count = byTier({ quick: 40, full: 120, soak: 2_000 }); count > 0; count -= 1) {
    const strings = Array.from({ length: 4 }, () => {
      return `'${Array.from({ length: random.below(6) }, () => random.pick(inner)).join('')}'`
    })
    const text = strings.map((string) => `${random.pick(separators)}${string}${random.pick(separators)}`).join(',')
    const tokens = readTokens(text)
    const values = tokens.filter(({ kind }) => kind === 'string').map(stringValue)
    const emitted = tokens.map((token) => token.text).join(' ')
    t.equal(values.length, 4, text)
    t.same(
      strings.map((string) => readTextTokens(string)[0]?.value),
      values,
      text,
    )
    for (const sql of [text, emitted]) t.same(JSON.parse(session.query(`SELECT toJSONString([${sql}])`)), values, sql)
  }
})
