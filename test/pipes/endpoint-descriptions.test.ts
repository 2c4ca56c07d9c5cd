import t from 'tap'
import { adminScope } from '../../src/access/admin-scope.ts'
import { openCatalog } from '../../src/catalog/catalog.ts'
import type { Pipe } from '../../src/catalog/pipe.types.ts'
import { EndpointDescriptions } from '../../src/pipes/endpoint-descriptions.ts'
import { createPipes } from '../../src/pipes/pipes.ts'
import { RepeatedChanges } from '../../src/pipes/repeated-changes.ts'
import type { CheckNode } from '../../src/query/check-node.ts'
import { errors } from '../../src/shared/errors/errors.ts'
import { asAdmin } from '../support/pipes/admin-pipes.ts'
import { emptyRecords } from '../support/storage/memory-storage.ts'

const unending = new AbortController().signal

/** Pipes in memory, and an engine that tells columns when it is let. */
function open() {
  const catalog = openCatalog({ dataSourcesMax: 10, pipesMax: 1_000, now: () => 0 }, emptyRecords())
  const sizes = { nodesMax: 10, pipeBytesMax: 10_000, descriptionLengthMax: 100, publishFirstNode: false, now: () => 0 }
  const saved = async () => ({ dependencies: [], columns: null, parameters: [] })
  const query = {
    checkNode: saved,
    checkAuthor: () => undefined,
    namesRead: () => [],
    compareNode: async () => 'same' as const,
  }
  const pipes = asAdmin(createPipes(sizes, { catalog, changes: new RepeatedChanges(), query }))
  const asked: string[] = []
  const engine: { answer: (pipe: string) => Promise<void> } = { answer: async () => {} }
  const checkNode: CheckNode = async (pipe) => {
    asked.push(pipe.name)
    await engine.answer(pipe.name)
    return { dependencies: [], columns: [{ name: 'a', type: 'UInt8' }], parameters: [] }
  }
  const { parametersOf } = pipes
  const descriptions = new EndpointDescriptions({
    catalog,
    query: { checkNode },
    parametersOf,
    serviceScope: adminScope,
  })
  const create = (name: string): Promise<Pipe> => {
    const node = { name: `${name}_node`, description: '', sql: 'SELECT 1 AS a', isEndpoint: true }
    return pipes.create({ name, description: '', nodes: [node] })
  }
  const all = (timeMaxMs = 60_000) =>
    descriptions.describeAll({ timeMaxMs, isShown: () => true, readScope: adminScope, signal: unending })
  return { catalog, pipes, descriptions, engine, asked, create, all }
}

t.test('the engine is asked once for a definition, whatever else changes', async (t) => {
  const { pipes, create, all, asked } = open()
  await create('a')
  await create('b')
  const first = await all()
  t.match(first, { endpoints: [{ name: 'a', columns: [{ name: 'a' }] }, { name: 'b' }], pendingCount: 0 })
  await create('c')
  await all()
  await pipes.drop('b', { isForced: false })
  const later = await all()
  t.strictSame(asked, ['a', 'b', 'c'])
  t.equal(later.endpoints[0], first.endpoints[0], 'the same description')
  await pipes.revise('a', { name: undefined, description: 'told' }, adminScope)
  t.match(await all(), { endpoints: [{ name: 'a', description: 'told' }, { name: 'c' }] })
  await pipes.editNode('c', 'c_node', {
    name: undefined,
    description: undefined,
    sql: 'SELECT 2 AS a',
    position: undefined,
    isForced: false,
  })
  await all()
  t.strictSame(asked, ['a', 'b', 'c', 'a', 'c'])
  await pipes.unpublish('c', null)
  t.match(await all(), { endpoints: [{ name: 'a' }], pendingCount: 0 })
})

t.test('those who ask at once share the questions, two at a time', async (t) => {
  const { create, all, asked, engine } = open()
  for (let index = 0; index < 9; index += 1) await create(`p${index}`)
  let running = 0
  let mostRunning = 0
  engine.answer = async () => {
    running += 1
    mostRunning = Math.max(mostRunning, running)
    await new Promise((resolve) => setImmediate(resolve))
    running -= 1
  }
  const lists = await Promise.all([all(), all(), all()])
  for (const { endpoints, pendingCount } of lists) t.strictSame([endpoints.length, pendingCount], [9, 0])
  t.equal(asked.length, 9)
  t.equal(mostRunning, 2)
})

t.test('a list comes in its time, and the engine goes on behind it', async (t) => {
  const { create, all, asked, engine } = open()
  for (const name of ['a', 'b', 'c', 'd']) await create(name)
  const waiting: (() => void)[] = []
  engine.answer = (name) => (name === 'a' ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve)))
  const list = await all(1)
  t.equal(list.endpoints.length, 4)
  t.ok(list.pendingCount >= 3)
  t.ok(asked.length <= 3, 'no more than two at a time are asked')
  t.match(list.endpoints.at(-1), { name: 'd', columns: null })
  engine.answer = async () => {}
  for (const resolve of waiting) resolve()
  t.match(await all(), { pendingCount: 0, endpoints: [{}, {}, {}, { name: 'd', columns: [{ name: 'a' }] }] })
  t.strictSame(asked.toSorted(), ['a', 'b', 'c', 'd'])
})

t.test('an endpoint that cannot be described leaves the others as they are', async (t) => {
  const { create, all, asked, engine, descriptions } = open()
  const broken = await create('broken')
  await create('whole')
  engine.answer = async (name) => {
    if (name === 'broken') throw errors.QUERY_TIMEOUT({ timeMaxMs: 1 })
  }
  t.match(await all(), {
    pendingCount: 1,
    endpoints: [{ name: 'broken', columns: null }, { columns: [{ name: 'a' }] }],
  })
  await t.rejects(descriptions.describe(broken, adminScope), { code: 'QUERY_TIMEOUT' })
  engine.answer = async () => {}
  t.match(await all(), { pendingCount: 0 })
  t.equal(asked.filter((name) => name === 'whole').length, 1)
})

t.test('nobody who has left has the engine asked', async (t) => {
  const { create, descriptions, asked } = open()
  for (const name of ['a', 'b', 'c']) await create(name)
  const { endpoints, pendingCount } = await descriptions.describeAll({
    timeMaxMs: 1,
    isShown: () => true,
    readScope: adminScope,
    signal: AbortSignal.abort(),
  })
  t.strictSame([endpoints.length, pendingCount], [3, 3])
  t.strictSame(asked, [])
})
