import t from 'tap'
import type { Pipe, PipeNode } from '../../src/catalog/pipe.types.ts'
import { createNodeId, createPipeId } from '../../src/catalog/pipe-id.ts'
import { PipeReaders } from '../../src/pipes/pipe-readers.ts'
import { dataSource, openTestCatalog } from '../support/catalog/test-catalog.ts'

function pipe(name: string, nodes: readonly PipeNode[]): Pipe {
  const times = { createdAt: 1_000, updatedAt: 1_000 }
  return { id: createPipeId(), name, description: '', nodes, endpointId: null, parentId: null, ...times }
}

function node(
  name: string,
  dependencies: readonly string[],
  sql = `SELECT * FROM ${dependencies.join(', ')}`,
): PipeNode {
  const times = { createdAt: 1_000, updatedAt: 1_000 }
  return { id: createNodeId(), name, description: '', sql, dependencies, ...times, version: 0 }
}

t.test('readers are the pipes whose nodes mean a data source or a pipe by a name', async (t) => {
  const { catalog } = await openTestCatalog(t)
  const readers = new PipeReaders(catalog)
  const [orders, raw] = [dataSource('orders'), dataSource('raw')]
  for (const source of [orders, raw]) {
    await catalog.begin(source)
    await catalog.complete(source.id)
  }
  t.same(readers.of(orders.id), [])
  const plain = pipe('plain', [node('a', ['orders'])])
  const both = pipe('both', [node('orders', ['orders']), node('b', ['orders', 'plain'])])
  const byId = `SELECT * FROM ${orders.id}`
  for (const one of [
    plain,
    pipe('hidden', [node('orders', ['raw']), node('b', ['orders'])]),
    both,
    pipe('set_aside', [node('a', ['orders_quarantine'])]),
    pipe('past', [node('orders', []), node('b', ['orders'], byId)]),
    pipe('past_made', [
      node('orders', []),
      node('b', ['orders'], `% SELECT * FROM {{table(a if b else '${orders.id}')}}`),
    ]),
    pipe('past_set_aside', [node('orders_quarantine', []), node('b', ['orders_quarantine'], `${byId}_quarantine`)]),
    pipe('by_node_id', [node('orders', []), node('b', ['orders'], `% SELECT 1 AS x -- ${createNodeId().slice(2, 9)}`)]),
  ]) {
    await catalog.createPipe(one)
  }
  const namesOf = (id: string) => readers.of(id).map((reader) => reader.name)
  t.same(namesOf(orders.id), ['plain', 'both', 'set_aside', 'past', 'past_made', 'past_set_aside'])
  t.same(namesOf(raw.id), ['hidden'])
  t.same(namesOf(plain.id), ['both'])
  await catalog.removePipe(both.id)
  t.same(namesOf(plain.id), [], 'what is asked next is answered by the catalog of then')
})
