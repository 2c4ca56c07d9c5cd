import t from 'tap'
import type { NodeId, Pipe, PipeId, PipeNode } from '../../src/catalog/pipe.types.ts'
import { mergeParameters, nodesOfEndpoint } from '../../src/pipes/endpoint-parameters.ts'
import type { ReadCatalog } from '../../src/pipes/read-catalog.types.ts'

function node(name: string, dependencies: readonly string[] = []): PipeNode {
  // Ids only have to differ here.
  const id = `n_${name}` as NodeId
  return { id, name, description: '', sql: 'SELECT 1', dependencies, createdAt: 0, updatedAt: 0, version: 1 }
}

function pipe(name: string, nodes: readonly PipeNode[], endpoint = nodes.at(-1)): Pipe {
  // The same holds for those of pipes.
  const id = `p_${name}` as PipeId
  const endpointId = endpoint?.id ?? null
  return { id, name, description: '', nodes, endpointId, parentId: null, createdAt: 0, updatedAt: 0 }
}

t.test('an endpoint is computed of the nodes that it reads, in its pipe and in others', async (t) => {
  const far = pipe('far', [node('far_rows', ['events'])])
  const shadowed = pipe('days', [node('days_of_another_pipe')])
  const near = pipe('near', [node('unread'), node('near_rows', ['far', 'missing'])])
  const open = pipe('open', [node('draft', ['far'])], undefined)
  const pipes = new Map([far, near, open, shadowed].map((one) => [one.name, one]))
  const catalog: ReadCatalog = {
    catalogVersion: 1,
    find: () => undefined,
    findPipe: (nameOrId) => pipes.get(nameOrId.replace('p_', '')),
    list: () => [],
    listPipes: () => [...pipes.values()],
  }
  const namesOf = (of: Pipe) => nodesOfEndpoint(of, catalog).map((placed) => placed.node.name)
  t.same(namesOf(pipe('top', [node('days', ['near']), node('alone'), node('result', ['days', 'far'])])), [
    'days',
    'result',
    'far_rows',
    'near_rows',
  ])
  t.same(namesOf(pipe('twice', [node('a', ['near']), node('b', ['near', 'a'])])), ['a', 'b', 'near_rows', 'far_rows'])
  t.same(namesOf(pipe('later', [node('first', ['second']), node('second')], undefined)), ['second'])
  t.same(namesOf({ ...open, endpointId: null }), [])
  const [one, other] = [pipe('one', [node('x', ['other'])]), pipe('other', [node('y', ['one'])])]
  pipes.set('one', one).set('other', other)
  t.same(namesOf(one), ['x', 'y'], 'pipes that read each other have an end')
})

t.test('a name is described once, by its best use', async (t) => {
  const untyped = { name: 'a', type: 'String', default: null }
  const argument = { ...untyped, used_in: 'function_call' as const }
  const typed = { name: 'a', type: 'Int8', default: 5, description: 'An a' }
  t.same(mergeParameters([untyped, { ...untyped, name: 'b' }, typed]), [typed, { ...untyped, name: 'b' }])
  t.same(mergeParameters([typed, untyped]), [typed])
  t.same(mergeParameters([argument, argument]), [argument])
  t.same(mergeParameters([argument, untyped]), [untyped])
  t.same(mergeParameters([{ name: 'a', type: 'Int8', default: null }, typed]), [typed])
  t.same(mergeParameters([typed, { name: 'a', type: 'Date', default: '2026-01-01', required: true }]), [
    { ...typed, required: true },
  ])
  t.same(
    mergeParameters([
      { ...typed, default: null },
      { name: 'a', type: 'Date', default: 'x' },
    ]),
    [{ ...typed, default: null }],
  )
})
