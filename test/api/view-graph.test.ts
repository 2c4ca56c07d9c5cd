// What is told of views and of what they are made of: at data sources, in the list of pipes, and as a graph.

import t from 'tap'
import { openPipeService } from '../support/api/pipe-service.ts'
import { ViewCalls } from '../support/api/view-calls.ts'

interface Graph {
  readonly nodes: readonly {
    readonly id: string
    readonly name: string
    readonly kind: string
    readonly rows?: number | null
  }[]
  readonly edges: readonly { readonly from: string; readonly to: string; readonly kind: string }[]
}

const { service, call } = await openPipeService(t)
const views = new ViewCalls(service)
await service.create('names', 'user String, full String')
await service.create('passing', 'user String, n UInt32', { engine: 'Null' })
await views.fill('one', 'SELECT user, n FROM events', { datasource: 'passing' })
await views.fill('two', 'SELECT user, full, n FROM passing LEFT JOIN names USING user', { datasource: 'named' })
await views.fill('three', 'SELECT n FROM passing', { datasource: 'bare' })
await call('POST', '/v0/pipes', {
  body: JSON.stringify({ name: 'shown', nodes: [{ sql: 'SELECT sum(n) FROM bare' }] }),
})
await views.send('events', [{ day: '2026-01-01', user: 'a', n: 3 }])

async function graphFor(token?: string): Promise<Graph> {
  const { status, json, text } = await call('GET', '/v0/graph', token === undefined ? {} : { token })
  if (status !== 200) throw new Error(text)
  // The shape is what the test checks.
  return json as Graph
}

function edgesOf({ nodes, edges }: Graph): readonly string[] {
  const nameOf = (id: string): string => nodes.find((node) => node.id === id)?.name ?? id
  return edges.map(({ from, to, kind }) => `${nameOf(from)} ${kind} ${nameOf(to)}`).toSorted()
}

t.test('the graph has data sources with their sizes, pipes, and the edges between them', async (t) => {
  const graph = await graphFor()
  t.match(
    graph.nodes.find(({ name }) => name === 'bare'),
    { kind: 'datasource', engine: 'MergeTree', rows: 1, bytes: Number },
  )
  t.match(
    graph.nodes.find(({ name }) => name === 'one'),
    { kind: 'pipe', type: 'materialized' },
  )
  t.same(edgesOf(graph), [
    'bare read shown',
    'events materialize passing',
    'events read one',
    'names join named',
    'names read two',
    'passing materialize bare',
    'passing materialize named',
    'passing read three',
    'passing read two',
  ])
})

t.test('who may not know of a resource is told of no edge to it', async (t) => {
  const body = new URLSearchParams({ name: 'narrow', scope: 'DATASOURCES:READ:events' })
  body.append('scope', 'DATASOURCES:READ:passing')
  // The shape is what other tests check.
  const { token } = (await call('POST', '/v0/tokens', { body: body.toString() })).json as { readonly token: string }
  const graph = await graphFor(token)
  t.same(graph.nodes.map(({ name }) => name).toSorted(), ['events', 'passing'])
  t.same(graph.edges, [])
  const shown = (await call('GET', '/v0/datasources/events', { token })).json
  t.notMatch(shown, { materializes_into: [{}] })
})

t.test('a data source tells which views its rows pass, in order, and which fill it', async (t) => {
  t.match((await call('GET', '/v0/datasources/events')).json, {
    materializes_into: [
      { depth: 1, pipe: { name: 'one' }, node: { name: 'one_view' }, datasource: { name: 'passing' } },
      { depth: 2, pipe: { name: 'two' }, trigger_datasource: { name: 'passing' }, datasource: { name: 'named' } },
      { depth: 2, pipe: { name: 'three' }, datasource: { name: 'bare' } },
    ],
  })
  t.match((await call('GET', '/v0/datasources/named')).json, {
    materialized_from: [{ pipe: { name: 'two' }, trigger_datasource: { name: 'passing' } }],
  })
})

t.test('the list of pipes with dependencies tells what nodes fill, and out of what', async (t) => {
  const { json } = await call('GET', '/v0/pipes?dependencies=true&node_attrs=name,node_type')
  t.match(json, {
    pipes: [
      {
        nodes: [
          {},
          {
            name: 'one_view',
            node_type: 'materialized',
            dependencies: ['events'],
            datasource: 'passing',
            trigger_datasource: 'events',
          },
        ],
      },
      { nodes: [{}, { dependencies: ['passing', 'names'], datasource: 'named', trigger_datasource: 'passing' }] },
      {},
      {},
    ],
  })
})
