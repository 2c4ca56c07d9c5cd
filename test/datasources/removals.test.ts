import t from 'tap'
import { createDataSourceId } from '../../src/catalog/data-source-id.ts'
import { Removals } from '../../src/datasources/removals.ts'
import type { Store } from '../../src/store/store.types.ts'

/** Removes by telling its steps; `fails` lets the first of them fail. */
function open() {
  const state = { steps: [] as string[], fails: false, errorCount: 0 }
  const step = async (text: string): Promise<void> => {
    state.steps.push(text)
  }
  const store = {
    views: {
      naming: async (id: string) => {
        if (state.fails) throw new Error('no')
        return [`view of ${id}`]
      },
      drop: (name: string) => step(`drop ${name}`),
    },
    replays: { drop: (id: string) => step(`replays ${id}`) },
    tables: { drop: (...names: readonly unknown[]) => step(`tables ${String(names[0])}`) },
  }
  const removals = new Removals({
    // The verbs that a removal asks for, and no others.
    store: store as unknown as Pick<Store, 'replays' | 'tables' | 'views'>,
    catalog: { remove: (id) => step(`entry ${id}`) },
    logger: {
      error: () => {
        state.errorCount += 1
      },
    },
  })
  return { removals, state }
}

t.test('views go before the tables that they read, and the entry of the catalog last', async (t) => {
  const { removals, state } = open()
  const id = createDataSourceId()
  await removals.remove(id)
  t.equal(state.steps[0], `drop view of ${id}`)
  t.equal(state.steps[1], `replays ${id}`)
  t.ok(state.steps.length > 3)
  t.ok(state.steps.slice(2, -1).every((step) => step.startsWith('tables ')))
  t.equal(state.steps.at(-1), `entry ${id}`)
})

t.test('what could not be removed is tried again, and said once', async (t) => {
  const { removals, state } = open()
  const id = createDataSourceId()
  state.fails = true
  await removals.takeBack(id)
  await removals.endLeftovers()
  t.same([state.steps, state.errorCount], [[], 1])
  state.fails = false
  await removals.endLeftovers()
  t.equal(state.steps.at(-1), `entry ${id}`)
  const stepCount = state.steps.length
  await removals.endLeftovers()
  t.equal(state.steps.length, stepCount, 'and not again')
})
