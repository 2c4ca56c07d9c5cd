import t from 'tap'
import type { NodeId, Pipe, PipeId, PipeNode } from '../../src/catalog/pipe.types.ts'
import { EndpointDescriptions } from '../../src/pipes/endpoint-descriptions.ts'
import { mergeParameters, nodesOfEndpoint } from '../../src/pipes/endpoint-parameters.ts'
import { errors } from '../../src/shared/errors.ts'

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
  const find = (name: string) => pipes.get(name)
  const namesOf = (of: Pipe) => nodesOfEndpoint(of, find).map(({ name }) => name)
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

t.test('the engine is asked for columns once for a version of the catalog, and again after a fault', async (t) => {
  const top = pipe('top', [node('rows')])
  const catalog = { catalogVersion: 1, findPipe: () => undefined, listPipes: () => [top] }
  let asked = 0
  let failure: Error | null = null
  const query = {
    async checkNode() {
      asked += 1
      await new Promise(setImmediate)
      if (failure !== null) throw failure
      return { dependencies: [], columns: [{ name: 'x', type: 'String' }], parameters: [] }
    },
  }
  const descriptions = new EndpointDescriptions({ catalog, query, parametersOf: () => [] })
  const columns = async () => (await descriptions.describe(top))?.columns
  t.same(await Promise.all([columns(), columns()]), [[{ name: 'x', type: 'String' }], [{ name: 'x', type: 'String' }]])
  await columns()
  t.equal(asked, 1)
  t.equal(await descriptions.describe({ ...top, endpointId: null }), null)

  catalog.catalogVersion = 2
  failure = errors.QUERIES_TOO_MANY({ retryAfterSeconds: 1 })
  await t.rejects(columns(), { code: 'QUERIES_TOO_MANY', status: 503 })
  failure = errors.SQL_INVALID({ reason: 'gone' })
  t.equal(await columns(), null)
  failure = null
  t.equal(await columns(), null, 'for this version it is broken')
  t.equal(asked, 3)
  catalog.catalogVersion = 3
  t.same(await columns(), [{ name: 'x', type: 'String' }])
})
