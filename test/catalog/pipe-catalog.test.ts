import { join } from 'node:path'
import t from 'tap'
import type { Catalog } from '../../src/catalog/catalog.ts'
import { createDataSourceId } from '../../src/catalog/data-source-id.ts'
import type { Pipe, PipeNode } from '../../src/catalog/pipe.types.ts'
import { createNodeId, createPipeId, parseNodeId, parsePipeId } from '../../src/catalog/pipe-id.ts'
import { checkNodeName, checkPipeName } from '../../src/catalog/pipe-name.ts'
import { decodePipe, encodePipe } from '../../src/catalog/pipe-record.ts'
import { formatPipe } from '../../src/catalog/pipe-text.ts'
import { openLmdbStorage } from '../../src/storage/lmdb-storage.ts'
import {
  catalogOver,
  dataSource,
  killedWriter,
  openTestCatalog,
  temporaryDirectory,
} from '../support/catalog/test-catalog.ts'
import { SeededRandom, testSeed } from '../support/seeded-random.ts'
import { MemoryStorage } from '../support/storage/memory-storage.ts'

// Run as a program of its own, this file creates and changes pipes until it is killed.
const writerPath = process.argv[2] === 'write' ? process.argv[3] : undefined
if (writerPath === undefined) runTests()
else await writeUntilKilled(writerPath)

function runTests(): void {
  t.test('a pipe is found by name, id and an id with a label, also after a restart', async (t) => {
    const { catalog, path, close } = await openTestCatalog(t)
    const top = pipe('top', [node('a'), node('b', ['a', 'orders'])])
    await catalog.createPipe(top)
    await catalog.createPipe(pipe('empty'))
    for (const name of ['top', top.id, `t_.top.${top.id.slice(2)}`]) t.equal(catalog.findPipe(name), top, name)
    t.equal(catalog.findPipe('Top'), undefined, 'capitals count')
    t.equal(catalog.find('top'), undefined, 'it is no data source')
    t.equal(catalog.find(top.id), undefined)
    await close()
    const again = (await openTestCatalog(t, { path })).catalog
    t.same(again.findPipe('top'), top)
    t.same(
      again.listPipes().map(({ name }) => name),
      ['top', 'empty'],
      'in order of creation',
    )
  })

  t.test('a name belongs to one data source or one pipe', async (t) => {
    const { catalog } = await openTestCatalog(t)
    const orders = dataSource('orders')
    await catalog.begin(orders)
    await t.rejects(catalog.createPipe(pipe('orders')), { code: 'DATASOURCE_EXISTS', status: 409 }, 'while it is made')
    await catalog.complete(orders.id)
    const top = pipe('top')
    await catalog.createPipe(top)
    await t.rejects(catalog.createPipe(pipe('top')), { code: 'PIPE_EXISTS', status: 409 })
    await t.rejects(catalog.createPipe(pipe('orders')), { code: 'DATASOURCE_EXISTS' })
    await t.rejects(catalog.begin(dataSource('top')), { code: 'PIPE_EXISTS' })
    await t.rejects(catalog.revise(orders.id, { name: 'top' }), { code: 'PIPE_EXISTS' })
    await t.rejects(catalog.replacePipe({ ...top, name: 'orders' }), { code: 'DATASOURCE_EXISTS' })
    t.throws(() => catalog.checkPipeName('orders'), { code: 'DATASOURCE_EXISTS' })

    await catalog.replacePipe({ ...top, name: 'best' })
    await catalog.revise(orders.id, { name: 'top' })
    t.equal(catalog.find('top')?.id, orders.id, 'a name goes to who has it now')
    t.equal(catalog.findPipe('top'), undefined)
    await catalog.removePipe(top.id)
    const best = dataSource('best')
    await catalog.begin(best)
    await catalog.retire(orders.id)
    await catalog.createPipe(pipe('top'))
    await catalog.remove(orders.id)
    t.equal(catalog.findPipe('top')?.name, 'top', 'who is gone takes no name of another along')
  })

  t.test('every change of a pipe gives the catalog another version, and none that was refused', async (t) => {
    const { catalog, path, close } = await openTestCatalog(t, { pipesMax: 2 })
    const top = pipe('top')
    await catalog.createPipe(top)
    await catalog.replacePipe({ ...top, description: 'x' })
    t.equal(catalog.catalogVersion, 2)
    const refuse = (): void => {
      throw new Error('not now')
    }
    await t.rejects(catalog.replacePipe({ ...top, description: 'y' }, refuse), { message: 'not now' })
    await t.rejects(catalog.createPipe(pipe('next'), refuse), { message: 'not now' })
    await t.rejects(catalog.removePipe(top.id, refuse), { message: 'not now' })
    await t.rejects(catalog.replacePipe(pipe('other')), { code: 'PIPE_NOT_FOUND', status: 404 })
    await t.rejects(catalog.removePipe(createPipeId()), { code: 'PIPE_NOT_FOUND' })
    await catalog.createPipe(pipe('second'))
    await t.rejects(catalog.createPipe(pipe('third')), { code: 'PIPES_TOO_MANY', status: 400 })
    t.equal(catalog.catalogVersion, 3)
    t.equal(catalog.findPipe('top')?.description, 'x')
    await catalog.removePipe(top.id)
    await close()
    const again = (await openTestCatalog(t, { path })).catalog
    t.equal(again.catalogVersion, 4)
    t.same(
      again.listPipes().map(({ name }) => name),
      ['second'],
    )
  })

  t.test('a guard sees what the changes before it left', async (t) => {
    const { catalog } = await openTestCatalog(t)
    const orders = dataSource('orders')
    await catalog.begin(orders)
    await catalog.complete(orders.id)
    const seen: (string | undefined)[] = []
    await Promise.all([
      catalog.revise(orders.id, { name: 'sales' }, () => seen.push(catalog.find(orders.id)?.name)),
      catalog.createPipe(pipe('top'), () => seen.push(catalog.find(orders.id)?.name)),
      catalog.retire(orders.id, () => seen.push(catalog.findPipe('top')?.name)),
    ])
    t.same(seen, ['orders', 'sales', 'top'])
    await t.rejects(
      catalog.revise(orders.id, {}, () => {}),
      { code: 'DATASOURCE_NOT_FOUND' },
    )
  })

  t.test('a change that the storage fails at was not made', async (t) => {
    const storage = new MemoryStorage()
    storage.failure = new Error('no space left on device')
    const catalog = await catalogOver(storage)
    await t.rejects(catalog.createPipe(pipe('top')), { message: 'no space left on device' })
    t.equal(catalog.findPipe('top'), undefined)
    t.equal(catalog.catalogVersion, 0)
    storage.failure = null
    await catalog.createPipe(pipe('top'))
    t.equal(catalog.catalogVersion, 1)
  })

  t.test('names of pipes are those of data sources, and nodes may be called as a quarantine is', async (t) => {
    for (const name of ['a', 'A1', '_a', 'x'.repeat(256)]) {
      t.doesNotThrow(() => checkPipeName(name), name)
      t.doesNotThrow(() => checkNodeName(name), name)
    }
    for (const name of ['', '1a', 'a-b', 'a.json', '_', 'año', createPipeId(), 'x'.repeat(257)]) {
      t.throws(() => checkPipeName(name), { code: 'NAME_INVALID', status: 400 }, name)
      t.throws(() => checkNodeName(name), { code: 'NAME_INVALID' }, name)
    }
    t.throws(() => checkPipeName('a_quarantine'), { code: 'NAME_INVALID' })
    t.doesNotThrow(() => checkNodeName('a_quarantine'))
    t.throws(() => checkPipeName('openapi'), { code: 'NAME_INVALID', message: /description of all endpoints/ })
    t.doesNotThrow(() => checkNodeName('openapi'))
    t.throws(() => parsePipeId('top'), /not the id of a pipe/)
    t.throws(() => parseNodeId('t_a'), /not the id of a node/)
  })

  t.test('a record that cannot be read is named', async (t) => {
    const top = pipe('top', [node('a')])
    const good = encodePipe({ pipe: top, sequence: 1 })
    t.same(decodePipe(top.id, JSON.parse(JSON.stringify(good))), { pipe: top, sequence: 1 })
    const [first] = top.nodes
    const broken: readonly (readonly [unknown, RegExp])[] = [
      [null, /'record' is not an object/],
      [{ ...good, format: 2 }, /its format is 2, not 1/],
      [{ ...good, name: 7 }, /'name' is not a text/],
      [{ ...good, nodes: {} }, /'nodes' is not an array/],
      [{ ...good, nodes: [first, first] }, /two of its nodes have one name/],
      [{ ...good, nodes: [{ ...first, id: 'a' }] }, /'a' is not the id of a node/],
      [{ ...good, nodes: [{ ...first, sql: null }] }, /'sql' is not a text/],
      [{ ...good, nodes: [{ ...first, dependencies: [1] }] }, /'dependencies' is not a text/],
      [{ ...good, nodes: [{ ...first, version: 0.5 }] }, /'version' is not an integer/],
      [{ ...good, endpointId: createNodeId() }, /'endpointId' is not the id of one of its nodes/],
      [{ ...good, parentId: 'x' }, /'x' is not the id of a pipe/],
      [{ ...good, sequence: '1' }, /'sequence' is not an integer/],
    ]
    for (const [record, reason] of broken) {
      t.throws(() => decodePipe(top.id, record), { name: 'CatalogRecordError', message: reason }, String(reason))
    }
  })

  t.test('the text of a pipe gives names, descriptions, queries and the endpoint', async (t) => {
    const last = { ...node('last'), description: 'NODE x\n\nSQL >', sql: '%\nSELECT {{Int32(a)}}\n\n  FROM a' }
    const top = { ...pipe('top', [node('a'), last]), description: 'Two\nlines', endpointId: last.id }
    t.equal(
      formatPipe(top),
      `DESCRIPTION >
    Two
    lines

NODE a
SQL >
    SELECT 1

NODE last
DESCRIPTION >
    NODE x

    SQL >
SQL >
    %
    SELECT {{Int32(a)}}

      FROM a

TYPE endpoint
`,
    )
  })

  const seed = testSeed()
  t.test(`random changes leave what a plain model says, also after a restart (SEED=${seed})`, async (t) => {
    const random = new SeededRandom(seed)
    const path = join(temporaryDirectory(t), 'catalog.lmdb')
    const model: Model = new Map()
    let { catalog, close } = await openTestCatalog(t, { path })
    let lastVersion = 0
    for (let step = 0; step < 300; step += 1) {
      await randomChange(catalog, random, model)
      t.ok(catalog.catalogVersion >= lastVersion)
      lastVersion = catalog.catalogVersion
      if (random.below(40) > 0) continue
      await close()
      const reopened = await openTestCatalog(t, { path })
      catalog = reopened.catalog
      close = reopened.close
      t.equal(catalog.catalogVersion, lastVersion)
    }
    const found: Model = new Map()
    for (const { id, name, description } of catalog.listPipes())
      found.set(id, { kind: 'pipe', name, text: description })
    for (const { id, name, description } of catalog.list()) found.set(id, { kind: 'source', name, text: description })
    t.same(found, model)
  })

  t.test('what a promise said is on disk survives kill -9, whole', { timeout: 60_000 }, async (t) => {
    const path = join(temporaryDirectory(t), 'catalog.lmdb')
    for (let round = 0; round < 3; round += 1) {
      const confirmed = await killedWriter(import.meta.url, path)
      const { catalog, close } = await openTestCatalog(t, { path })
      const found = new Set(catalog.listPipes().map((one) => `${one.name} ${one.description}`))
      t.same(
        confirmed.filter((line) => !found.has(line)),
        [],
        `all ${confirmed.length} of round ${round} are there, with their last change`,
      )
      await close()
    }
  })
}

type Model = Map<string, { readonly kind: 'pipe' | 'source'; readonly name: string; readonly text: string }>

const names = ['a', 'b', 'c', 'd', 'e']

/** One change of a few pipes and data sources under few names, so that many are refused. */
async function randomChange(catalog: Catalog, random: SeededRandom, model: Model): Promise<void> {
  const name = names[random.below(names.length)] ?? 'a'
  const text = `x${random.below(1000)}`
  const isTaken = [...model.values()].some((one) => one.name === name)
  const ids = [...model.keys()]
  const id = ids[random.below(Math.max(1, ids.length))]
  const entry = id === undefined ? undefined : model.get(id)
  const choice = random.below(4)
  if (choice === 0) {
    const made = { ...pipe(name, [node('n', ['a'])]), description: text }
    const isMade = await isDone(catalog.createPipe(made))
    if (isMade === isTaken) throw new Error(`pipe ${name}: made ${isMade}, taken ${isTaken}`)
    if (isMade) model.set(made.id, { kind: 'pipe', name, text })
  } else if (choice === 1) {
    const made = { ...dataSource(name), description: text }
    const isMade = await isDone(catalog.begin(made))
    if (isMade === isTaken) throw new Error(`data source ${name}: made ${isMade}, taken ${isTaken}`)
    if (!isMade) return
    await catalog.complete(made.id)
    model.set(made.id, { kind: 'source', name, text })
  } else if (id !== undefined && entry !== undefined) {
    const source = catalog.find(id)
    const before = catalog.findPipe(id)
    if (choice === 2) {
      if (before !== undefined) await catalog.removePipe(before.id)
      if (source !== undefined) await catalog.retire(source.id)
      if (source !== undefined) await catalog.remove(source.id)
      model.delete(id)
      return
    }
    const isFree = !isTaken || entry.name === name
    const change =
      before === undefined
        ? catalog.revise(source?.id ?? createDataSourceId(), { name, description: text })
        : catalog.replacePipe({ ...before, name, description: text })
    const isMade = await isDone(change)
    if (isMade !== isFree) throw new Error(`rename to ${name}: made ${isMade}, free ${isFree}`)
    if (isMade) model.set(id, { ...entry, name, text })
  }
}

/** Whether the change was made; false when the name is another's. */
async function isDone(change: Promise<unknown>): Promise<boolean> {
  try {
    await change
    return true
  } catch (error) {
    if (error instanceof Error && 'status' in error && error.status === 409) return false
    throw error
  }
}

async function writeUntilKilled(path: string): Promise<void> {
  const catalog = await catalogOver(await openLmdbStorage(path), { pipesMax: 100_000 })
  for (let count = 0; ; count += 1) {
    const made = pipe(`p_${process.pid}_${count}`, [node('a'), node('b', ['a'])])
    await catalog.createPipe(made)
    await catalog.replacePipe({ ...made, description: `changed_${count}` })
    process.stdout.write(`${made.name} changed_${count}\n`)
  }
}

/** What a writer said it had done before it was killed. */

function pipe(name: string, nodes: readonly PipeNode[] = []): Pipe {
  return {
    id: createPipeId(),
    name,
    description: '',
    nodes,
    endpointId: null,
    parentId: null,
    createdAt: 1_000,
    updatedAt: 1_000,
  }
}

function node(name: string, dependencies: readonly string[] = []): PipeNode {
  return {
    id: createNodeId(),
    name,
    description: '',
    sql: 'SELECT 1',
    dependencies,
    createdAt: 1_000,
    updatedAt: 1_000,
    version: 0,
  }
}
