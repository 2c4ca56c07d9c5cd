import t from 'tap'
import { AppendGate } from '../../../src/store/append-gate.ts'
import { appendForViews, type PassingRequest } from '../../../src/store/embedded/append-for-views.ts'
import type { AppendKeeper, AppendRequest, KeptAppend } from '../../../src/store/store.types.ts'
import { StoreError } from '../../../src/store/store-error.ts'

const request: AppendRequest = {
  table: 'a',
  layout: { fields: [], targets: [] },
  parts: [],
  rowCount: 1,
  blockId: 'b',
  outlivesViews: true,
}
const ofView = new StoreError({ kind: 'engine', message: 'no: while pushing to view v. (X)', clickhouseCode: 395 })
const ofRows = new StoreError({ kind: 'engine', message: 'no', clickhouseCode: 6 })
const long = 240_000

/** A gate whose keeper says what it is asked for, and INSERTs with these outcomes, one after the other. */
function openCase(outcomes: readonly (StoreError | null)[], given: Partial<AppendKeeper> = {}) {
  const steps: string[] = []
  const gate = new AppendGate()
  const kept: KeptAppend = {
    noteStored: async () => void steps.push('noted as stored'),
    noteFailed: async (_, isBegun) => void steps.push(`noted as failed, ${isBegun ? '' : 'not '}begun`),
  }
  const keeper: AppendKeeper = {
    beforeAppend: (_append, before) => before,
    keepFailed: async (_append, _failure, before) => {
      if (before === null) steps.push('kept')
      return before ?? kept
    },
    setAside: async () => {
      // Whoever sets a view aside closes the gate.
      const isClosed = await gate.whileClosed(['a'], long, async () => undefined)
      steps.push(`set aside: ${isClosed}`)
      return true
    },
    notePassed: async () => void steps.push('passed'),
    ...given,
  }
  let count = 0
  const insert = async ({ passesViews = false, onBegun }: PassingRequest): Promise<void> => {
    steps.push(passesViews ? 'inserted past views' : 'inserted')
    const outcome = outcomes[count] ?? null
    count += 1
    if (outcome === ofRows) throw outcome
    onBegun?.()
    if (outcome !== null) throw outcome
  }
  const run = (more: Partial<AppendRequest> = {}) =>
    appendForViews({ request: { ...request, ...more }, paths: ['p'] }, { gate, keeper }, insert)
  return { steps, kept, run, gate }
}

t.test('an INSERT that all views take is told to nobody', async (t) => {
  const { steps, run } = openCase([null])
  await run()
  t.same(steps, ['inserted'])
})

t.test('a view that fails is set aside with the INSERT, which runs again', async (t) => {
  const { steps, run } = openCase([ofView, ofView, null])
  await t.rejects(run(), { message: ofView.message, areRowsStored: true })
  t.same(steps, [
    ...['inserted', 'kept', 'set aside: true'],
    ...['inserted', 'set aside: true'],
    ...['inserted', 'noted as stored'],
  ])
})

t.test('where it cannot be set aside it is passed over', async (t) => {
  const { steps, run } = openCase([ofView, null], { keepFailed: async () => null, setAside: async () => false })
  await t.rejects(run(), { message: ofView.message, areRowsStored: true })
  t.same(steps, ['inserted', 'inserted past views', 'passed'])
})

t.test('views that fail one after the other are passed over at last', async (t) => {
  const { steps, run } = openCase(Array.from({ length: 101 }, () => ofView))
  await t.rejects(run(), { message: ofView.message, areRowsStored: true })
  t.equal(steps.filter((step) => step === 'inserted').length, 101)
  t.same(steps.slice(-2), ['inserted past views', 'passed'])
})

t.test('what is kept for a view that is parked is told how the INSERT ended', async (t) => {
  for (const [outcome, step] of [
    [null, 'noted as stored'],
    [ofRows, 'noted as failed, not begun'],
    [ofView, 'noted as failed, begun'],
  ] as const) {
    const one = openCase([outcome], { beforeAppend: async () => one.kept })
    const running = one.run({ outlivesViews: false })
    if (outcome === null) await running
    else await t.rejects(running, { message: outcome.message, areRowsStored: false })
    t.same(one.steps, ['inserted', step])
    t.equal(await one.gate.whileClosed(['a'], long, async () => undefined), true, 'the gate is open again')
  }
})
