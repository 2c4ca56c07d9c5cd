import t from 'tap'
import { adminScope } from '../../src/access/admin-scope.ts'
import { withPlace } from '../../src/query/error-place.ts'
import { inUsersWords } from '../../src/query/message-names.ts'
import { callerScope, type Reading } from '../../src/query/name-scope.ts'
import { compileQuery } from '../../src/sql/compile-query.ts'
import { TestWorkspace } from '../support/query/test-workspace.ts'

const workspace = new TestWorkspace()
workspace.addDataSource('events', 'id UInt32, tag String')
workspace.addPipe('top', { raw: 'SELECT id,\n  wrong\nFROM events', end: 'SELECT id AS `é`, other FROM raw' })

const reading: Reading = {
  workspace,
  database: 'ws',
  readScope: adminScope,
  findServiceSource: () => undefined,
  nodeText: ({ sql }) => sql,
}
const plan = (sql: string) => compileQuery(sql, { scope: callerScope(reading, null) })

t.test('a name that the engine does not know is told with its place', async (t) => {
  const unknown = (name: string) => `Unknown expression identifier \`${name}\`. (UNKNOWN_IDENTIFIER)`
  t.equal(
    withPlace(unknown('nope'), plan('SELECT id,\n nope FROM events')),
    'Unknown expression identifier `nope` (line 2, column 2). (UNKNOWN_IDENTIFIER)',
  )
  t.equal(
    withPlace(unknown('wrong'), plan('SELECT * FROM top')),
    "Unknown expression identifier `wrong` (line 2, column 3 of node 'raw'). (UNKNOWN_IDENTIFIER)",
  )
  t.match(withPlace(unknown('other'), plan('SELECT * FROM top')), /line 1, column 19 of node 'top'/)
  t.equal(withPlace(unknown('id'), plan('SELECT id FROM top')), unknown('id'), 'it stands in several texts')
  t.equal(withPlace(unknown('absent'), plan('SELECT 1')), unknown('absent'))
  t.equal(withPlace('No name here', plan('SELECT 1')), 'No name here')
  const long = 'x'.repeat(40_000)
  t.equal(withPlace(unknown(long), plan(`SELECT ${long}`)), unknown(long), 'a name that is too long is told as it is')

  const absent = (name: string) =>
    `Identifier '${name}' cannot be resolved from table with name e. (UNKNOWN_IDENTIFIER)`
  t.match(withPlace(absent('e.nope'), plan('SELECT id,\n e.nope FROM events AS e')), /name e \(line 2, column 2\)\. /)
  t.match(withPlace(absent('e.nope'), plan('SELECT `e`.`nope` FROM events AS e')), /\(line 1, column 8\)/)
  t.equal(
    withPlace(
      "Column 'events.tag' is not under aggregate function. (NOT_AN_AGGREGATE)",
      plan('SELECT max(id), tag FROM events'),
    ),
    "Column 'events.tag' is not under aggregate function (line 1, column 17). (NOT_AN_AGGREGATE)",
  )
})

t.test('a place of the engine becomes one in the text of its author', async (t) => {
  const error = (position: number) =>
    `Syntax error: failed at position ${position} (FROM) (line 1, col 3): FROM. Expected one of: a. (SYNTAX_ERROR)`
  t.equal(
    withPlace(error(9), plan('SELECT  /* x */ id FROM events')),
    'Syntax error: failed at line 1, column 18: FROM. Expected one of: a. (SYNTAX_ERROR)',
  )
  const inner = plan('SELECT * FROM top')
  const byteOffset = Buffer.byteLength(inner.sql.slice(0, inner.sql.indexOf('wrong')))
  t.match(withPlace(error(byteOffset + 1), inner), /failed at line 2, column 3 of node 'raw'/)
  t.match(
    withPlace(error(byteOffset + 1 + 8), inner, { prefix: 'EXPLAIN ' }),
    /failed at line 2, column 3 of node 'raw'/,
  )
})

t.test('the engine repeats queries behind its messages; of what was put into them nothing is told', async (t) => {
  const nothing = { find: () => undefined }
  const query = "SELECT id FROM (SELECT * FROM ev PREWHERE (tenant = 'a')) AS `ev`"
  const cases = [
    [
      `Unknown expression identifier \`x\` in scope ${query}. (UNKNOWN_IDENTIFIER)`,
      'Unknown expression identifier `x`. (UNKNOWN_IDENTIFIER)',
    ],
    [
      `Unknown identifier 'foo' inside COLUMNS matcher. In scope Scope node ${query}\nIdentifier lookup\n { ${query} }. (UNKNOWN_IDENTIFIER)`,
      "Unknown identifier 'foo' inside COLUMNS matcher. (UNKNOWN_IDENTIFIER)",
    ],
    [
      `Identifier a nested path b cannot be resolved from type UInt8. In scope x -> (${query}). (UNKNOWN_IDENTIFIER)`,
      'Identifier a nested path b cannot be resolved from type UInt8. (UNKNOWN_IDENTIFIER)',
    ],
    [
      `Table expression modifiers FINAL are not supported for subquery ${query}. (UNSUPPORTED_METHOD)`,
      'Table expression modifiers FINAL are not supported. (UNSUPPORTED_METHOD)',
    ],
    [
      `Lambda x -> (${query}) AS f expect 1 arguments. Actual: 4. In scope x -> (${query}) AS f. (BAD_ARGUMENTS)`,
      'A lambda expect 1 arguments. Actual: 4. (BAD_ARGUMENTS)',
    ],
    [
      `Syntax error: failed at position 15 (x) (line 1, col 15): x) FROM (${query}) AS \`p\`... Expected one of: SELECT query. (SYNTAX_ERROR)`,
      'Syntax error: failed at position 15 (x) (line 1, col 15): x. Expected one of: SELECT query. (SYNTAX_ERROR)',
    ],
    ['Please SELECT a day in the scope of the report. (FUNCTION_THROW_IF_VALUE_IS_NON_ZERO)', null],
  ] as const
  for (const [message, told] of cases) t.equal(inUsersWords(message, nothing), told ?? message)
})

t.test('an operator is told with its place, as the function that it is', async (t) => {
  const wrong = (name: string) =>
    `Illegal types String and UInt8 of arguments of function ${name}. (ILLEGAL_TYPE_OF_ARGUMENT)`
  const cases: readonly (readonly [name: string, sql: string, place: string | null])[] = [
    ['plus', 'SELECT id,\n tag + 1 FROM events', 'line 2, column 6'],
    ['plus', "SELECT '+' AS plus, tag + 1 FROM events", 'line 1, column 25'],
    ['plus', 'SELECT tag + 1, id + 1 FROM events', null],
    ['minus', 'SELECT -id, tag - 1 FROM events', 'line 1, column 17'],
    ['negate', 'SELECT id - 1, -tag FROM events', 'line 1, column 16'],
    ['negate', 'SELECT id FROM events WHERE -tag', 'line 1, column 29'],
    ['multiply', 'SELECT *, count(*), tag * 2 FROM events', 'line 1, column 25'],
    ['modulo', 'SELECT tag % 2 FROM events', 'line 1, column 12'],
    ['equals', 'SELECT id FROM events WHERE tag = 1', 'line 1, column 33'],
    ['notEquals', 'SELECT id FROM events WHERE tag <> 1', 'line 1, column 33'],
    ['greaterOrEquals', 'SELECT id FROM events WHERE tag BETWEEN 1 AND 2', 'line 1, column 33'],
    ['like', "SELECT id FROM events WHERE tag NOT LIKE 'a' OR id LIKE 'b'", 'line 1, column 52'],
    ['notLike', "SELECT id FROM events WHERE tag NOT LIKE 'a' OR id LIKE 'b'", 'line 1, column 37'],
    ['and', 'SELECT tag AND 1 FROM events', 'line 1, column 12'],
    ['arrayElement', 'SELECT [1], tag[1] FROM events', 'line 1, column 16'],
    ['CAST', 'SELECT tag::UInt8 FROM events', 'line 1, column 11'],
    ['plus', 'SELECT plus(tag, 1) FROM events', 'line 1, column 8'],
    ['multiIf', 'SELECT CASE WHEN tag THEN 1 END FROM events', 'line 1, column 8'],
  ]
  for (const [name, sql, place] of cases) {
    const told = place === null ? wrong(name) : wrong(name).replace('. (', ` (${place}). (`)
    t.equal(withPlace(wrong(name), plan(sql)), told, sql)
  }
  workspace.addPipe(
    'sums',
    { one: 'SELECT id,\n tag + 1 AS n FROM events', two: 'SELECT tag + 1 AS a, tag + 2 AS b FROM events' },
    'one',
  )
  t.match(withPlace(wrong('plus'), plan('SELECT * FROM sums')), /\(line 2, column 6 of node 'sums'\)/)
  workspace.addPipe('pairs', { two: 'SELECT tag + 1 AS a, tag + 2 AS b FROM events' })
  t.match(withPlace(wrong('plus'), plan('SELECT * FROM pairs')), /plus \(in node 'pairs'\)\. /)
})
