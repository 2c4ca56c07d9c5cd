import t from 'tap'
import type { DataSourceId } from '../../src/catalog/data-source.types.ts'
import { parseDataSourceId } from '../../src/catalog/data-source-id.ts'
import type { NodeView, Pipe } from '../../src/catalog/pipe.types.ts'
import { createNodeId, createPipeId, createViewId } from '../../src/catalog/pipe-id.ts'
import { cyclePath } from '../../src/materialize/view-cycle.ts'
import { cascadeFrom, viewsInto, withParked } from '../../src/materialize/view-graph.ts'
import { ownQuery } from '../../src/sql/own-query.ts'

const ids = new Map<string, DataSourceId>()

function idOf(letter: string): DataSourceId {
  const known = ids.get(letter) ?? parseDataSourceId(`t_${letter.charCodeAt(0).toString(16).padStart(32, '0')}`)
  ids.set(letter, known)
  return known
}

function lettersOf(path: readonly DataSourceId[] | null): string | null {
  return path === null ? null : path.map((id) => [...ids].find(([, one]) => one === id)?.[0]).join('')
}

/** A pipe for each edge, such as `ab`. */
function pipesOf(...edges: readonly string[]): readonly Pipe[] {
  return edges.map((edge) => {
    const times = { createdAt: 0, updatedAt: 0 }
    const view: NodeView = {
      id: createViewId(),
      sourceId: idOf(edge.charAt(0)),
      targetId: idOf(edge.charAt(1)),
      otherIds: [],
      nodeIds: [],
      select: ownQuery('SELECT 1'),
      columns: [],
      createdAt: 0,
    }
    const node = {
      id: createNodeId(),
      name: edge,
      description: '',
      sql: '',
      dependencies: [],
      version: 0,
      view,
      ...times,
    }
    return {
      id: createPipeId(),
      name: edge,
      description: '',
      nodes: [node],
      endpointId: null,
      parentId: null,
      ...times,
    }
  })
}

t.test('a circle is found with its way', async (t) => {
  const pipes = pipesOf('ab', 'bc', 'ad', 'dc')
  const pathOf = (edge: string) => lettersOf(cyclePath({ from: idOf(edge.charAt(0)), to: idOf(edge.charAt(1)) }, pipes))
  t.equal(pathOf('aa'), 'aa')
  t.equal(pathOf('ba'), 'bab')
  t.equal(pathOf('ca')?.length, 4)
  t.equal(pathOf('ac'), null)
  t.equal(pathOf('ce'), null)
  t.equal(
    lettersOf(cyclePath({ from: idOf('c'), to: idOf('e') }, pipes, [{ from: idOf('e'), to: idOf('a') }]))?.length,
    5,
  )
})

t.test('a cascade is in order, each view as deep as its longest way', async (t) => {
  const pipes = pipesOf('bc', 'cd', 'ab', 'ad', 'xy')
  t.same(
    cascadeFrom(idOf('a'), pipes).map(({ node, depth }) => `${node.name}${depth}`),
    ['ab1', 'ad1', 'bc2', 'cd3'],
  )
  t.same(
    viewsInto(idOf('d'), pipes).map(({ node }) => node.name),
    ['cd', 'ad'],
  )
  t.same(cascadeFrom(idOf('d'), pipes), [])
})

t.test('a view that is parked is among those of the engine as the catalog has it', async (t) => {
  const [sound, parked] = pipesOf('ab', 'ac')
  const behind = { sinceMs: 1, isParked: true, place: 1, tableBlocks: 0, missCount: 1, errorName: '' }
  const pipes = [sound, parked && parkedPipe(parked)].flatMap((pipe) => pipe ?? [])
  function parkedPipe(pipe: Pipe): Pipe {
    return {
      ...pipe,
      nodes: pipe.nodes.map(({ view, ...node }) => ({ ...node, ...(view && { view: { ...view, behind } }) })),
    }
  }
  const [own, away] = pipes.flatMap(({ nodes }) => nodes.flatMap(({ view }) => view ?? []))
  const seen = {
    name: own?.id ?? '',
    source: own?.sourceId ?? '',
    target: own?.targetId ?? '',
    select: ownQuery('SELECT 1'),
    columns: [],
  }
  const expected = [seen, { ...seen, name: away?.id ?? '', target: away?.targetId ?? '' }]
  const onTwin = { ...seen, name: away?.id ?? '', source: 'twin', target: away?.targetId ?? '' }
  t.same(withParked({ tables: new Map(), views: [seen] }, pipes).views, expected)
  t.same(withParked({ tables: new Map(), views: [onTwin, seen] }, pipes).views, expected, 'also while it catches up')
})
