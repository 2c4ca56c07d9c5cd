// Statements are written in `store` and `query` alone: everybody else asks the store for what a verb of it gives.

import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import t from 'tap'
import ts from 'typescript'
import { repositoryRoot } from '../support/repository-root.ts'

/** What writes parts of users' queries anew, and what is shown to people. */
const allowed: ReadonlyMap<string, string> = new Map([
  ['src/sql/name-resolver.ts', 'the rows that a reader may see, in the place of a table'],
  ['src/sql/column-probe.ts', 'a query by which the engine tells whether names are columns'],
  ['src/sql/filter-probe.ts', 'queries by which the engine is asked about a row filter'],
  ['src/sql/table-functions.ts', 'a subquery in the place of a call'],
  ['src/sql/engine-agreement.ts', 'queries whose readings are compared at the start'],
  ['src/start-text.ts', 'a command that is shown at the start'],
])

const keywords = [
  String.raw`^\s*\(?\s*(?:EXPLAIN\b[^']*|DESCRIBE\s+TABLE\b[^']*|WITH\b[^']*)?SELECT\s+(?:[^\s-]|$)`,
  String.raw`\bSELECT\s[\s\S]*\bFROM\b`,
  String.raw`\bINSERT\s+INTO\b`,
  String.raw`\b(?:CREATE|ALTER|DROP|TRUNCATE|OPTIMIZE|ATTACH|DETACH|RENAME|EXCHANGE|DESCRIBE)\s+(?:TEMPORARY\s+)?(?:TABLES?|DATABASE|DICTIONARY|FUNCTION|(?:MATERIALIZED\s+)?VIEW|PARTITION)\b`,
  String.raw`\bSYSTEM\s+[A-Z]+\s`,
  String.raw`\bFROM\s+system\.`,
]
const statement = new RegExp(keywords.join('|'))
const words =
  /\b(?:SELECT|INSERT|CREATE|ALTER|DROP|TRUNCATE|OPTIMIZE|ATTACH|DETACH|RENAME|EXCHANGE|DESCRIBE|SYSTEM|FROM)\s/

/** The texts of literals, with a blank in the place of each expression of a template. */
function literalsIn(text: string): readonly { readonly text: string; readonly line: number }[] {
  const source = ts.createSourceFile('source.ts', text, ts.ScriptTarget.ESNext, true)
  const found: { text: string; line: number }[] = []
  const visit = (node: ts.Node): void => {
    const literal = textOf(node)
    if (literal !== null) found.push({ text: literal, line: source.getLineAndCharacterOfPosition(node.pos).line + 1 })
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

function textOf(node: ts.Node): string | null {
  if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) return node.text
  if (!ts.isTemplateExpression(node)) return null
  return [node.head.text, ...node.templateSpans.map(({ literal }) => literal.text)].join(' x ')
}

function filesBelow(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => relative(repositoryRoot, join(entry.parentPath, entry.name)))
    .filter((path) => !/^src\/(?:store|query)\//.test(path))
}

function statementsIn(path: string): readonly string[] {
  const source = readFileSync(join(repositoryRoot, path), 'utf8')
  // Most files have no such word anywhere, and parsing takes longest.
  const literals = words.test(source) ? literalsIn(source) : []
  return literals.filter(({ text }) => statement.test(text)).map(({ text, line }) => `${path}:${line} ${text}`)
}

t.test('no module but the store and the queries of users writes statements', async (t) => {
  const paths = filesBelow(join(repositoryRoot, 'src'))
  t.ok(paths.length > 300, `${paths.length} files are read`)
  t.same(paths.filter((path) => !allowed.has(path)).flatMap(statementsIn), [])
})

t.test('every exception is one still', async (t) => {
  for (const path of allowed.keys()) t.not(statementsIn(path).length, 0, path)
})

t.test('statements are found in literals of every kind, and words of errors are none', async (t) => {
  const found = (text: string): number => literalsIn(text).filter((literal) => statement.test(literal.text)).length
  const hole = '$' + '{table}'
  const statements = [
    "'SELECT 1'",
    `\`SELECT count() FROM ${hole}\``,
    `\`(SELECT * FROM ${hole} WHERE 0)\``,
    `\`${hole} SELECT a FROM b\``,
    `\`WITH ${hole} SELECT ${hole}\``,
    `\`ALTER TABLE ${hole} DROP COLUMN a\``,
    "'DROP VIEW IF EXISTS a'",
    `\`INSERT INTO ${hole} (a)\``,
    `\`EXCHANGE TABLES ${hole}\``,
    "'SYSTEM SYNC FILE CACHE'",
    "'name FROM system.tables'",
  ]
  for (const text of statements) t.equal(found(`run(${text})`), 1, text)
  const others = [
    "'Only SELECT statements are supported'",
    "['SELECT', 'WITH']",
    "'DROP COLUMN IF EXISTS a'",
    "'it cannot be altered from here'",
    '/SELECT a FROM b/',
    'x // SELECT a FROM b',
  ]
  for (const text of others) t.equal(found(`run(${text}\n)`), 0, text)
})
