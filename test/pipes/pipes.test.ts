// Over a real catalog, with a check of nodes that knows names alone: `a, b` reads a and b.

import { join } from 'node:path'
import t from 'tap'
import { adminScope } from '../../src/access/admin-scope.ts'
import type { Catalog } from '../../src/catalog/catalog.ts'
import type { DataSource, DataSourceId } from '../../src/catalog/data-source.types.ts'
import { createNodeId } from '../../src/catalog/pipe-id.ts'
import type { NodeRequest } from '../../src/pipes/pipes.types.ts'
import { errors } from '../../src/shared/errors/errors.ts'
import { catalogOver, dataSource, temporaryDirectory } from '../support/catalog/test-catalog.ts'
import { type Change, Model } from '../support/pipes/pipe-model.ts'
import { type OpenedPipes, openPipesAt, openTestPipes } from '../support/pipes/test-pipes.ts'
import { SeededRandom, testSeed } from '../support/seeded-random.ts'
import { MemoryStorage } from '../support/storage/memory-storage.ts'

t.test('a data source that goes while a node over it is checked takes the node along', async (t) => {
  const { catalog, pipes, beforeCheck } = await openTestPipes(t)
  const source = await addSource(catalog, 'events')
  beforeCheck.push(() => catalog.retire(source.id))
  await t.rejects(pipes.create({ name: 'top', description: '', nodes: [node('a', 'events')] }), {
    code: 'SQL_INVALID',
    message: "Resource 'events' not found",
  })
  t.same(pipes.list(), [])
  const other = await addSource(catalog, 'events')
  const top = await pipes.create({ name: 'top', description: '', nodes: [node('a', 'events')] })
  beforeCheck.push(() => catalog.revise(other.id, { name: 'sales' }))
  await t.rejects(pipes.appendNode('top', node('b', 'events')), { code: 'SQL_INVALID' })
  t.same(pipes.get('top'), top)
  await pipes.appendNode('top', node('b', 'sales'))
  t.match(pipes.get('top').nodes, [{ dependencies: ['events'] }, { dependencies: ['sales'] }], 'one is broken, one not')
})

t.test('changes of one pipe are made one after the other, each on what the one before left', async (t) => {
  const { pipes } = await openTestPipes(t)
  await pipes.create({ name: 'a', description: '', nodes: [node('x', '')] })
  const results = await Promise.allSettled([
    pipes.appendNode('a', node('y', 'x')),
    pipes.appendNode('a', node('y', 'x')),
    pipes.publish('a', 'y'),
    pipes.removeNode('a', 'y'),
    pipes.editNode('a', 'y', { ...noEdit, name: 'z' }),
    pipes.revise('a', { name: 'b', description: undefined }, adminScope),
    pipes.unpublish('a', 'z'),
    pipes.drop('a', { isForced: false }),
    pipes.appendNode('a', node('y', 'x')),
  ])
  t.same(
    results.map((result) => (result.status === 'fulfilled' ? 'done' : result.reason.code)),
    ['done', 'NODE_EXISTS', 'done', 'NODE_PUBLISHED', 'done', 'done', 'done', 'done', 'PIPE_NOT_FOUND'],
  )
})

t.test('a node that is long in being checked holds up its own pipe alone', async (t) => {
  const { pipes, beforeCheck } = await openTestPipes(t)
  await pipes.create({ name: 'slow', description: '', nodes: [node('x', '')] })
  const ends: (() => void)[] = []
  beforeCheck.push(() => new Promise<void>((resolve) => ends.push(resolve)))
  const slow = pipes.appendNode('slow', node('y', 'x'))
  const next = pipes.appendNode('slow', node('z', 'y'))
  await pipes.create({ name: 'quick', description: '', nodes: [node('x', 'slow')] })
  t.match(pipes.get('slow').nodes, { length: 1 })
  for (const end of ends) end()
  await Promise.all([slow, next])
  t.match(pipes.get('slow').nodes, [{ name: 'x' }, { name: 'y' }, { name: 'z' }])
})

t.test('what other pipes became while a node was checked is looked at when it is saved', async (t) => {
  const { pipes, beforeCheck } = await openTestPipes(t)
  const create = (name: string, ...nodes: readonly NodeRequest[]) => pipes.create({ name, description: '', nodes })
  await create('a', node('x', ''))
  beforeCheck.push(() => pipes.drop('a', { isForced: false }))
  await t.rejects(create('b', node('x', 'a')), { code: 'SQL_INVALID', message: "Resource 'a' not found" })
  await create('a', node('x', ''))
  beforeCheck.push(() => pipes.revise('a', { name: 'c', description: undefined }, adminScope))
  await t.rejects(create('b', node('x', 'a')), { code: 'SQL_INVALID', message: "Resource 'a' not found" })
  await create('b', node('x', ''))
  beforeCheck.push(() => pipes.editNode('c', 'x', { ...noEdit, sql: 'b' }))
  await t.rejects(pipes.editNode('b', 'x', { ...noEdit, sql: 'c' }), {
    ...{ code: 'SQL_INVALID', message: /Circular dependency/ },
  })
  beforeCheck.push(() => pipes.revise('c', { name: 'd', description: undefined }, adminScope))
  await t.rejects(create('d', node('x', '')), { code: 'PIPE_EXISTS' })
  t.same(
    pipes.list().map(({ name, nodes }) => [name, nodes[0]?.sql]),
    [
      ['d', 'b'],
      ['b', ''],
    ],
  )
})

t.test('a name with a version that something takes while a node by it is checked is looked up again', async (t) => {
  const { catalog, pipes, beforeCheck } = await openTestPipes(t)
  const create = (name: string) => pipes.create({ name, description: '', nodes: [node('x', 'views__v3')] })
  await addSource(catalog, 'views')
  beforeCheck.push(() => addSource(catalog, 'views__v3'))
  await create('a')
  t.same(pipes.get('a').nodes[0]?.dependencies, ['views__v3'])
  beforeCheck.push(() => catalog.retire(catalog.find('views__v3')?.id as DataSourceId))
  await pipes.appendNode('a', node('y', 'views__v3'))
  t.same(pipes.get('a').nodes[1]?.dependencies, ['views'])
})

t.test('a copy over a pipe waits for its changes, and they for it', async (t) => {
  const { pipes } = await openTestPipes(t)
  await pipes.create({ name: 'from', description: '', nodes: [node('x', ''), node('y', 'x')] })
  const copies = await Promise.all(
    Array.from({ length: 4 }, () => pipes.copy({ name: 'to', from: 'from', description: undefined, requireChange })),
  )
  t.equal(new Set(copies.map(({ id }) => id)).size, 1, 'the first one makes it, the others go over it')
  await Promise.all([
    pipes.publish('to', 'y'),
    pipes.copy({ name: 'to', from: 'from', description: 'again', requireChange }),
    pipes.appendNode('to', node('z', 'y')),
  ])
  const { description, nodes, endpointId } = pipes.get('to')
  t.equal(description, 'again')
  t.match(nodes, [{ name: 'x' }, { name: 'y' }], 'the new node stands behind them when it came after the copy')
  t.ok(nodes.length === 2 || nodes[2]?.name === 'z')
  t.equal(endpointId, nodes[1]?.id, 'published before the copy or after it')
})

t.test('times tell when a pipe and its nodes were made and changed', async (t) => {
  const { pipes, clock } = await openTestPipes(t)
  clock.nowMs = 1_000
  await pipes.create({ name: 'a', description: '', nodes: [node('x', ''), node('y', 'x')] })
  clock.nowMs = 2_000
  await pipes.editNode('a', 'y', { ...noEdit, sql: '' })
  t.match(pipes.get('a'), {
    ...{ createdAt: 1_000, updatedAt: 2_000 },
    nodes: [
      { createdAt: 1_000, updatedAt: 1_000, version: 0 },
      { createdAt: 1_000, updatedAt: 2_000, version: 1 },
    ],
  })
  clock.nowMs = 3_000
  for (const change of [
    () => pipes.publish('a', 'y'),
    () => pipes.unpublish('a', null),
    () => pipes.removeNode('a', 'y'),
    () => pipes.revise('a', { name: undefined, description: 'x' }, adminScope),
  ]) {
    clock.nowMs += 1_000
    await change()
    t.equal(pipes.get('a').updatedAt, clock.nowMs)
  }
  const published = await pipes.publish('a', 'x')
  clock.nowMs += 1_000
  t.equal(await pipes.publish('a', 'x'), published, 'what is so already is no change')
})

t.test('a node without a name gets the next one of its pipe that is free', async (t) => {
  const { pipes } = await openTestPipes(t)
  const unnamed = { ...node('', ''), name: undefined }
  await pipes.create({ name: 'a', description: '', nodes: [unnamed, node('a_2', ''), unnamed] })
  await pipes.removeNode('a', 'a_0')
  await pipes.appendNode('a', unnamed)
  t.same(
    pipes.get('a').nodes.map(({ name }) => name),
    ['a_2', 'a_3', 'a_4'],
  )
})

t.test('parameters are those of the template, and none where a template cannot be read any more', async (t) => {
  const { catalog, pipes } = await openTestPipes(t)
  const top = await pipes.create({ name: 'top', description: '', nodes: [node('x', '')] })
  const queries = ['% {{Int32(a, 1)}}', '% {{Int32(a', 'SELECT {{Int32(a)}}']
  const nodes = top.nodes.flatMap((first) =>
    queries.map((sql, index) => ({ ...first, sql, name: `n${index}`, id: createNodeId() })),
  )
  await catalog.replacePipe({ ...top, nodes })
  t.same(
    pipes.get('top').nodes.map((one) => pipes.parametersOf(one)),
    [[{ name: 'a', type: 'Int32', default: 1 }], [], []],
  )
})

t.test('a pipe holds so many nodes, so much SQL and so long descriptions, and no more', async (t) => {
  const { pipes } = await openTestPipes(t)
  const nodes = Array.from({ length: 10 }, (_, index) => node(`n${index}`, ''))
  const full = await pipes.create({ name: 'full', description: '', nodes })
  await t.rejects(pipes.appendNode('full', node('more', '')), { code: 'NODES_TOO_MANY', status: 400 })
  await t.rejects(pipes.create({ name: 'more', description: '', nodes: [...nodes, node('n', '')] }), {
    code: 'NODES_TOO_MANY',
  })
  t.same(pipes.list(), [full])

  const names = Array.from({ length: 334 }, () => 'x').join(', ')
  t.equal(names.length, 1_000)
  await pipes.create({ name: 'long', description: '', nodes: [node('x', ''), node('y', names)] })
  await t.rejects(pipes.appendNode('long', node('z', 'x')), {
    ...{ code: 'PIPE_TOO_LONG', status: 400 },
    message: "The nodes of Pipe 'long' have more than 1000 bytes of SQL together",
  })
  await t.rejects(pipes.editNode('long', 'x', { ...noEdit, sql: 'y' }), { code: 'PIPE_TOO_LONG' })
  await pipes.editNode('long', 'y', { ...noEdit, sql: 'x' })
  await pipes.appendNode('long', node('z', 'x'))

  for (const [length, isTaken] of [
    [100, true],
    [101, false],
  ] as const) {
    const description = 'd'.repeat(length)
    for (const change of [
      () => pipes.revise('full', { name: undefined, description }, adminScope),
      () => pipes.editNode('full', 'n1', { ...noEdit, description }),
      () => pipes.copy({ name: 'long', from: 'full', description, requireChange }),
    ]) {
      if (isTaken) await t.resolves(change() as Promise<unknown>)
      else await t.rejects(change() as Promise<unknown>, { code: 'REQUEST_INVALID', message: /100 characters at most/ })
    }
  }
})

t.test('a change that cannot be written was not made', async (t) => {
  const storage = new MemoryStorage()
  const { pipes } = await openTestPipes(t, await catalogOver(storage))
  const top = await pipes.create({ name: 'top', description: '', nodes: [node('a', ''), node('b', 'a')] })
  storage.failure = new Error('no space left on device')
  for (const change of [
    () => pipes.create({ name: 'x', description: '', nodes: [] }),
    () => pipes.copy({ name: 'x', from: 'top', description: undefined, requireChange }),
    () => pipes.revise('top', { name: 'x', description: undefined }, adminScope),
    () => pipes.appendNode('top', node('c', 'b')),
    () => pipes.editNode('top', 'b', { ...noEdit, sql: '' }),
    () => pipes.removeNode('top', 'b'),
    () => pipes.publish('top', 'a'),
    () => pipes.drop('top', { isForced: false }),
  ]) {
    await t.rejects(change() as Promise<unknown>, { message: 'no space left on device' })
    t.same(pipes.list(), [top])
  }
})

const seed = testSeed()
t.test('random changes do what a plain model of pipes says, also after restarts', async (t) => {
  t.comment(`SEED=${seed}`)
  const random = new SeededRandom(seed)
  const path = join(temporaryDirectory(t), 'catalog.lmdb')
  const model = new Model()
  let opened = await openPipesAt(t, path)
  const outcomes = new Map<string, number>()
  for (let step = 0; step < 1_500; step += 1) {
    const change = randomChange(random)
    const expected = model.apply(change)
    const got = await applied(change, opened)
    t.equal(got, expected, `step ${step}: ${JSON.stringify(change)}`)
    if (got !== expected) return
    outcomes.set(`${change.kind} ${got}`, (outcomes.get(`${change.kind} ${got}`) ?? 0) + 1)
    if (random.below(100) === 0) {
      await opened.close()
      opened = await openPipesAt(t, path)
    }
    if (step % 10 === 0) t.same(plain(opened.catalog), model.plain(), `after step ${step}`)
  }
  t.same(plain(opened.catalog), model.plain())
  t.ok(outcomes.size > 25, `changes were made and refused in many ways: ${[...outcomes.keys()].sort().join('; ')}`)
})

t.test('whatever is changed side by side, every node can read its names, and none reads itself', async (t) => {
  t.comment(`SEED=${seed}`)
  const random = new SeededRandom(seed)
  const memory = await catalogOver(new MemoryStorage())
  const opened = await openTestPipes(t, memory)
  const { catalog, delays } = opened
  let doneCount = 0
  for (let round = 0; round < 200; round += 1) {
    if (round % 4 === 0) await beginAnew(opened)
    const changes = Array.from({ length: 8 }, () => randomChange(random)).filter(keepsReaders)
    for (const _ of changes) delays.push(random.below(6))
    const outcomes = await Promise.all(changes.map((change) => applied(change, opened)))
    doneCount += outcomes.filter((outcome) => outcome === 'done').length
    const model = new Model()
    const { sources, pipes } = plain(catalog)
    Object.assign(model, { sources, pipes })
    for (const pipe of pipes) {
      const unreadable = pipe.nodes.filter((_, index) => !model.isReadable(pipe, index))
      const isRight = unreadable.length === 0 && !model.hasCycle(pipe, pipe)
      if (!isRight) t.fail(`round ${round}: ${pipe.name}`, { pipe, changes, outcomes, pipes })
    }
    const taken = [...sources, ...pipes.map(({ name }) => name)]
    t.equal(new Set(taken).size, taken.length, `round ${round}: each name is given once`)
  }
  t.ok(doneCount > 100, `${doneCount} changes were made`)
})

/** Soon every name is taken and few changes are possible: then it begins anew, with a data source and two pipes. */
async function beginAnew({ catalog, pipes }: OpenedPipes): Promise<void> {
  for (const { id } of pipes.list()) await pipes.drop(id, { isForced: true })
  for (const { id } of catalog.list()) {
    await catalog.retire(id)
    await catalog.remove(id)
  }
  await addSource(catalog, 'a')
  await pipes.create({ name: 'b', description: '', nodes: [node('x', readsOf('a')), node('y', readsOf('x'))] })
  await pipes.create({ name: 'c', description: '', nodes: [node('x', ''), node('z', readsOf('b'))] })
}

/** What takes nothing away from under those who read it. */
function keepsReaders(change: Change): boolean {
  const isForced = change.kind === 'drop' && change.isForced
  return !isForced && !['dropSource', 'remove', 'unpublish'].includes(change.kind)
}

const resourceNames = ['a', 'b', 'c', 'd', 'e'] as const
const requireChange = (): void => undefined
const nodeNames = ['x', 'y', 'z', 'a'] as const

function randomChange(random: SeededRandom): Change {
  const name = random.pick(resourceNames)
  const to = random.pick(resourceNames)
  const node = random.pick(nodeNames)
  const sql = randomSql(random)
  switch (random.below(13)) {
    case 0:
      return { kind: 'addSource', name: random.pick(['a', 'b']) }
    case 1:
      return { kind: random.below(2) === 0 ? 'dropSource' : 'addSource', name: random.pick(['a', 'b']) }
    case 2:
      return { kind: 'renameSource', name, to }
    case 3: {
      const nodes = Array.from(
        { length: 1 + random.below(2) },
        () => [random.pick(nodeNames), randomSql(random)] as const,
      )
      return { kind: 'create', name, nodes }
    }
    case 4:
      return { kind: 'copy', name, from: to }
    case 5:
      return { kind: 'rename', name, to }
    case 6:
      return { kind: 'drop', name, isForced: random.below(8) === 0 }
    case 7:
    case 8:
      return { kind: 'append', name, node, sql, isEndpoint: random.below(4) === 0 }
    case 9:
      return { kind: 'edit', name, node, sql }
    case 10:
      return { kind: 'renameNode', name, node, to: random.pick(nodeNames) }
    case 11:
      return { kind: random.below(2) === 0 ? 'remove' : 'unpublish', name, node }
    default:
      return { kind: 'publish', name, node }
  }
}

function randomSql(random: SeededRandom): string {
  const names = Array.from({ length: random.below(3) }, () => random.pick([...resourceNames, 'x', 'y', 'z']))
  return names.length === 0 ? '' : readsOf(...new Set(names))
}

function readsOf(...names: readonly string[]): string {
  return `SELECT 1 FROM ${names.join(', ')}`
}

/** `done`, or the code of the refusal. */
async function applied(change: Change, { catalog, pipes, readers }: OpenedPipes): Promise<string> {
  try {
    await apply(change, { catalog, pipes, readers })
    return 'done'
  } catch (error) {
    if (error instanceof Error && 'code' in error && typeof error.code === 'string') return error.code
    throw error
  }
}

async function apply(change: Change, { catalog, pipes, readers }: Pick<OpenedPipes, 'catalog' | 'pipes' | 'readers'>) {
  switch (change.kind) {
    case 'addSource':
      return await addSource(catalog, change.name)
    case 'dropSource': {
      const source = catalog.find(change.name)
      if (source === undefined) throw errors.DATASOURCE_NOT_FOUND({ name: change.name })
      await catalog.retire(source.id)
      return await catalog.remove(source.id)
    }
    case 'renameSource': {
      const source = catalog.find(change.name)
      if (source === undefined) throw errors.DATASOURCE_NOT_FOUND({ name: change.name })
      return await catalog.revise(source.id, { name: change.to }, () => {
        if (readers.of(source.id).length === 0) return
        throw errors.DATASOURCE_USED({ name: change.name, users: [], advice: '' })
      })
    }
    case 'create': {
      const nodes = change.nodes.map(([name, sql]) => node(name, sql))
      return await pipes.create({ name: change.name, description: '', nodes })
    }
    case 'copy':
      return await pipes.copy({ name: change.name, from: change.from, description: undefined, requireChange })
    case 'rename':
      return await pipes.revise(change.name, { name: change.to, description: undefined }, adminScope)
    case 'drop':
      return await pipes.drop(change.name, { isForced: change.isForced })
    case 'append':
      return await pipes.appendNode(change.name, { ...node(change.node, change.sql), isEndpoint: change.isEndpoint })
    case 'edit':
      return await pipes.editNode(change.name, change.node, { ...noEdit, sql: change.sql })
    case 'renameNode':
      return await pipes.editNode(change.name, change.node, { ...noEdit, name: change.to })
    case 'remove':
      return await pipes.removeNode(change.name, change.node)
    case 'publish':
      return await pipes.publish(change.name, change.node)
    case 'unpublish':
      return await pipes.unpublish(change.name, change.node)
  }
}

function plain(catalog: Catalog) {
  const pipes = catalog.listPipes().map(({ name, nodes, endpointId }) => ({
    name,
    nodes: nodes.map((one) => ({ name: one.name, sql: one.sql })),
    endpoint: nodes.find(({ id }) => id === endpointId)?.name ?? null,
  }))
  const sources = catalog.list().map(({ name }) => name)
  return { sources: sources.sort(), pipes }
}

const noEdit = { name: undefined, description: undefined, sql: undefined, position: undefined, isForced: false }

function node(name: string, sql: string): NodeRequest {
  return { name, description: '', sql, isEndpoint: false }
}

async function addSource(catalog: Catalog, name: string): Promise<DataSource> {
  const source = dataSource(name)
  await catalog.begin(source)
  await catalog.complete(source.id)
  return source
}
