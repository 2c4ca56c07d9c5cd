import t from 'tap'
import { adminScope } from '../../src/access/admin-scope.ts'
import { createReadScope } from '../../src/access/read-scope.ts'
import { openCatalog } from '../../src/catalog/catalog.ts'
import { createPipes } from '../../src/pipes/pipes.ts'
import type { NodeRequest } from '../../src/pipes/pipes.types.ts'
import { RepeatedChanges } from '../../src/pipes/repeated-changes.ts'
import type { CheckNode } from '../../src/query/check-node.ts'
import { emptyRecords } from '../support/storage/memory-storage.ts'

t.test('the SQL of a change is judged within what its author may read', async (t) => {
  const authors: string[] = []
  const checkNode: CheckNode = async (_pipe, { name }, _position, { signature }) => {
    authors.push(`${name} ${signature}`)
    return { dependencies: [], columns: null, parameters: [] }
  }
  const catalog = openCatalog({ dataSourcesMax: 1, pipesMax: 10, now: () => 0 }, emptyRecords())
  const options = { nodesMax: 9, pipeBytesMax: 999, descriptionLengthMax: 9, publishFirstNode: false, now: () => 0 }
  const pipes = createPipes(options, {
    catalog,
    changes: new RepeatedChanges(),
    query: { checkNode, checkAuthor: () => undefined, namesRead: () => [], compareNode: async () => 'same' },
  })
  const author = (signature: string) => createReadScope({ ...adminScope, signature })
  await pipes.create({ name: 'p', description: '', nodes: [node('a', 'SELECT 1')] }, author('creator'))
  await pipes.appendNode('p', node('b', 'SELECT 1'), author('appender'))
  await pipes.editNode('p', 'a', { ...noEdit, sql: 'SELECT 2' }, author('editor'))
  await pipes.copy({ name: 'q', from: 'p', description: undefined, requireChange: () => undefined }, author('copier'))
  t.strictSame(authors, ['a creator', 'b appender', 'a editor', 'a copier', 'b copier'])
})

const noEdit = { name: undefined, description: undefined, position: undefined, isForced: false }

function node(name: string, sql: string): NodeRequest {
  return { name, description: '', sql, isEndpoint: false }
}
