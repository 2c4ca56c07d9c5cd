import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import type { DataSource } from '../../src/catalog/data-source.types.ts'
import { Creations } from '../../src/datasources/creations.ts'
import { errors } from '../../src/shared/errors/errors.ts'
import { FakeStore } from '../support/ingest/fake-store.ts'

function open({ isFailing = false } = {}) {
  const steps: string[] = []
  const taken = new Set<string>()
  let show = (): void => undefined
  const shown = new Promise<void>((resolve) => {
    show = resolve
  })
  const creations = new Creations(
    {
      catalog: {
        begin: async ({ name }: DataSource, guard: () => void = () => undefined) => {
          guard()
          steps.push(`begin ${name}`)
          if (taken.has(name)) throw errors.DATASOURCE_EXISTS({ name })
          taken.add(name)
        },
        find: () => undefined,
        checkNewName() {},
        complete: async () => {
          await shown
          if (isFailing) throw errors.CHANGES_TOO_MANY({ retryAfterSeconds: 1 })
          steps.push('complete')
        },
      },
      store: new FakeStore({ isOpen: true }),
      removals: {
        endLeftovers: async () => undefined,
        takeBack: async () => {
          taken.clear()
          steps.push('taken back')
        },
      },
      pipeUsers: undefined,
      refuseVersioned: (name) => {
        throw errors.DATASOURCE_NOT_FOUND({ name })
      },
    },
    { columnsMax: 10, now: () => 1_000 },
  )
  const create = (name: string, more: { readonly isImplicit?: boolean } = {}) =>
    creations.create({ name, description: '', schema: 'n UInt32', engine: null, type: 'ndjson', ...more })
  return { creations, create, steps, show }
}

t.test('who wants a name that is being created waits, and is then told that it is taken', async (t) => {
  const { create, steps, show } = open()
  const first = create('rows')
  const second = t.rejects(create('rows'), { code: 'DATASOURCE_EXISTS', status: 409 })
  await setImmediate()
  t.same(steps, ['begin rows'])
  show()
  t.match(await first, { name: 'rows', version: 1, createdAt: 1_000 })
  await second
  t.same(steps, ['begin rows', 'complete', 'begin rows'])
})

t.test('a creation that fails is taken back, and its name is free', async (t) => {
  const { creations, create, steps, show } = open({ isFailing: true })
  const first = t.rejects(create('rows'), { code: 'CHANGES_TOO_MANY', status: 503 })
  show()
  await first
  await creations.untilEnded('rows')
  t.same(steps, ['begin rows', 'taken back'])
})

t.test('a name that only rows came for is not taken where it is a version of another', async (t) => {
  const { create, steps } = open()
  await t.rejects(create('rows__v2', { isImplicit: true }), { code: 'DATASOURCE_NOT_FOUND' })
  t.same(steps, [])
})
