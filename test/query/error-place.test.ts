import t from 'tap'
import { withPlace } from '../../src/query/error-place.ts'
import { callerScope, type Reading } from '../../src/query/name-scope.ts'
import { adminScope } from '../../src/query/read-scope.ts'
import { compileQuery } from '../../src/sql/compile-query.ts'
import { TestWorkspace } from './test-workspace.ts'

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
  t.match(withPlace(error(byteOffset + 1 + 8), inner, 'EXPLAIN '), /failed at line 2, column 3 of node 'raw'/)
})
