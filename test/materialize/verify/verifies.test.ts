import t from 'tap'
import type { MaterializedNode } from '../../../src/catalog/pipe.types.ts'
import type { PopulatedView } from '../../../src/materialize/populate/populate.types.ts'
import { type VerifiesOptions, VerifyService } from '../../../src/materialize/verify/verifies.ts'
import { type Life, PopulateWorld } from '../../support/materialize/populate-world.ts'

const world = await PopulateWorld.open()
t.teardown(() => world.close())
const engine = { name: 'MergeTree', options: { partition_key: 'toYYYYMM(d)', sorting_key: 'd' } }
const source = await world.source('events', 'id UInt64, d Date', engine)
const target = await world.source('days', 'id UInt64, d Date', engine)
const view = world.view(source, target, 'SELECT id, d FROM {from}', ['id', 'd'])
await world.link(view)
await world.insert(source, "SELECT number, toDate('2026-01-01') + number % 59 FROM numbers(1000)")
const isOver = new AbortController().signal

/** The node as the catalog has it, as far as comparisons ask. */
function nodeOf({ id, sourceId, targetId, select, columns }: PopulatedView): MaterializedNode {
  const typed = columns.map((name) => ({ name, typeText: name === 'd' ? 'Date' : 'UInt64' }))
  const node = { name: 'node', view: { id, sourceId, targetId, select, columns: typed, otherIds: [] } }
  // What else a pipe and a node have, nobody asks for.
  return { pipe: { id: 't_pipe', name: 'pipe' }, node, view: node.view } as unknown as MaterializedNode
}

function verifier(life: Life, given: Partial<VerifiesOptions> = {}): VerifyService {
  const options = { verifyRowsMax: 10_000, verifyTimeMaxMs: 60_000, populateChunkRowsMax: 100, ...given }
  const find = (id: string) => [source, target].find((one) => one.id === id)
  const atOnce = <Result>(_: unknown, change: () => Promise<Result>) => change()
  const holds = { refuseHeld: () => undefined, withHold: atOnce, withStill: atOnce }
  return new VerifyService(options, {
    catalog: { find, lastNameOf: (id) => id },
    store: world.store,
    holds,
    populates: life.populates,
  })
}

t.test('a comparison tells both partitions, and leaves no table', async (t) => {
  const life = await world.live()
  const { partitions, reasons } = await verifier(life).verify(nodeOf(view), isOver)
  t.same(reasons, [])
  t.match(partitions, [
    { text: '202601', isEqual: true, reason: null },
    { text: '202602', isEqual: true, reason: null },
  ])
  t.same(await world.pins(), [])
  t.notOk(life.populates.isBusy(new Set([target.id])))
  await life.jobs.close()
})

t.test('rows, time and comparisons at once have a maximum', async (t) => {
  const life = await world.live()
  const node = nodeOf(view)
  await t.rejects(verifier(life, { verifyRowsMax: 1_999 }).verify(node, isOver), {
    code: 'VERIFY_TOO_LARGE',
    status: 400,
  })
  await verifier(life, { verifyRowsMax: 2_000 }).verify(node, isOver)
  await t.rejects(verifier(life, { verifyTimeMaxMs: 0 }).verify(node, isOver), { code: 'VERIFY_TIMEOUT', status: 408 })
  const verifies = verifier(life)
  const three = await Promise.allSettled([1, 2, 3].map(() => verifies.verify(node, isOver)))
  const refused = three.filter(({ status }) => status === 'rejected')
  t.equal(refused.length, 1, 'two run, whichever they are')
  t.match(refused, [{ reason: { code: 'CHANGES_TOO_MANY', status: 503 } }])
  await life.jobs.close()
  t.same(await world.pins(), [])
})

t.test('who leaves ends a comparison, and a kill leaves its tables to the next start', async (t) => {
  const life = await world.live()
  const left = new AbortController()
  left.abort(new Error('left'))
  await t.rejects(verifier(life).verify(nodeOf(view), left.signal), { message: 'left' })
  t.same(await world.pins(), [])
  const plan = { view, sourceName: 'events', filled: [], pinId: 'a'.repeat(32) }
  const request = { subset: null, condition: null, unlinksOnError: false, truncates: true }
  await life.populates.pin({ ...plan, request, compared: { staging: 'plain', keepsArrivals: true } })
  life.kill()
  t.equal((await world.pins()).length, 5)
  const later = await world.live()
  await later.jobs.close()
  t.same(await world.pins(), [])
})
