import { mock } from 'node:test'
import t, { type Test } from 'tap'
import { InsertPlaces, type InsertPlacesOptions } from '../../src/store/insert-places.ts'

const limits = { placesMax: 2, slowPlacesMax: 4, slowAfterMs: 20 }

/** INSERTs that end, and become slow, when the test says so. */
class Inserts {
  readonly begun: string[] = []
  readonly #ends = new Map<string, () => void>()
  readonly #places: InsertPlaces
  #tell: () => void = () => undefined

  constructor(t: Test, options: Partial<InsertPlacesOptions> = {}) {
    // On a machine that stops for a moment a quick INSERT would become slow.
    mock.timers.enable({ apis: ['setTimeout'] })
    t.teardown(() => mock.timers.reset())
    this.#places = new InsertPlaces({ ...limits, ...options })
  }

  start(name: string, onSlow?: () => void): Promise<void> {
    const [key = name] = name.split(' ')
    return this.#places.use(
      { key, isPlain: key.startsWith('plain') },
      () =>
        new Promise<void>((resolve) => {
          this.begun.push(name)
          this.#ends.set(name, resolve)
          this.#tell()
        }),
      onSlow,
    )
  }

  end(name: string): void {
    const end = this.#ends.get(name)
    if (end === undefined) throw new Error(`${name} does not run`)
    end()
  }

  async untilBegun(...names: readonly string[]): Promise<void> {
    while (!names.every((name) => this.begun.includes(name))) {
      await new Promise<void>((resolve) => {
        this.#tell = resolve
      })
    }
  }
}

/** Starts INSERTs, and lets the time pass after which they are slow; so are all others that run. */
async function untilSlow(inserts: Inserts, ...names: readonly string[]): Promise<void> {
  const slow = names.map((name) => new Promise<void>((resolve) => void inserts.start(name, resolve)))
  await inserts.untilBegun(...names)
  mock.timers.tick(limits.slowAfterMs)
  await Promise.all(slow)
}

t.test('two data sources whose INSERTs do not end leave both places to others', async (t) => {
  const inserts = new Inserts(t)
  await untilSlow(inserts, 'a 1', 'b 1')
  const others = [inserts.start('c 1'), inserts.start('d 1')]
  await inserts.untilBegun('c 1', 'd 1')
  inserts.end('c 1')
  inserts.end('d 1')
  await Promise.all(others)
  t.same(inserts.begun, ['a 1', 'b 1', 'c 1', 'd 1'])
})

t.test('a data source that was slow has one place of the slow, until it is quick again', async (t) => {
  const inserts = new Inserts(t)
  await untilEnded(inserts, 'a 1')
  void inserts.start('a 2')
  void inserts.start('a 3')
  void inserts.start('b 1')
  void inserts.start('c 1')
  await inserts.untilBegun('a 2', 'b 1', 'c 1')
  t.notOk(inserts.begun.includes('a 3'))
  inserts.end('a 2')
  inserts.end('b 1')
  await inserts.untilBegun('a 3')
})

t.test('half of the places for the slow are kept for those that become slow', async (t) => {
  const inserts = new Inserts(t)
  for (const key of ['f', 'g']) await untilQuick(inserts, `${key} 0`)
  for (const key of ['a', 'b', 'c']) await untilEnded(inserts, `${key} 1`)
  for (const key of ['a', 'b', 'c']) void inserts.start(`${key} 2`)
  await inserts.untilBegun('a 2', 'b 2')
  t.notOk(inserts.begun.includes('c 2'))
  await untilSlow(inserts, 'd 1', 'e 1')
  void inserts.start('f 1')
  void inserts.start('g 1')
  await inserts.untilBegun('f 1', 'g 1')
  t.notOk(inserts.begun.includes('c 2'))
})

t.test('what becomes slow when there is no place for the slow keeps its own until there is', async (t) => {
  const inserts = new Inserts(t, { slowPlacesMax: 1 })
  for (const name of ['b 0', 'c 0', 'd 0']) await untilQuick(inserts, name)
  await untilSlow(inserts, 'a 1')
  await untilSlow(inserts, 'b 1', 'c 1')
  void inserts.start('d 1')
  t.notOk(inserts.begun.includes('d 1'))
  inserts.end('a 1')
  await inserts.untilBegun('d 1')
  t.same(inserts.begun, ['b 0', 'c 0', 'd 0', 'a 1', 'b 1', 'c 1', 'd 1'])
})

t.test('data sources that are slow from the first, however many, leave a place to those that were quick', async (t) => {
  const inserts = new Inserts(t)
  await untilQuick(inserts, 'q 1')
  for (const key of ['a', 'b', 'c', 'd', 'e']) await untilSlow(inserts, `${key} 1`)
  for (const key of ['f', 'g']) void inserts.start(`${key} 1`)
  for (const count of [2, 3, 4]) await untilQuick(inserts, `q ${count}`)
  t.notOk(inserts.begun.includes('f 1'))
  inserts.end('a 1')
  await inserts.untilBegun('f 1')
})

t.test('a data source without any INSERT yet has the kept place when its table computes nothing', async (t) => {
  const inserts = new Inserts(t)
  for (const key of ['a', 'b', 'c', 'd', 'e']) await untilSlow(inserts, `${key} 1`)
  void inserts.start('new 1')
  await untilQuick(inserts, 'plain 1')
  t.notOk(inserts.begun.includes('new 1'))
  // It may take long all the same, as large ones do: then it waits like any other.
  await untilSlow(inserts, 'plain 2')
  inserts.end('plain 2')
  void inserts.start('plain 3')
  t.notOk(inserts.begun.includes('plain 3'))
})

t.test('a data source whose INSERTs are quick and slow in turn does not have the kept place', async (t) => {
  let nowMs = 0
  const inserts = new Inserts(t, { nowMs: () => nowMs })
  await untilEnded(inserts, 'mixed 1')
  await untilQuick(inserts, 'mixed 2')
  for (const key of ['a', 'b', 'c', 'd', 'e']) await untilSlow(inserts, `${key} 1`)
  void inserts.start('mixed 3')
  t.notOk(inserts.begun.includes('mixed 3'))
  nowMs = 300_001
  // Places are given out when one asks or ends.
  void inserts.start('other 1')
  await inserts.untilBegun('mixed 3')
  t.notOk(inserts.begun.includes('other 1'))
})

t.test('more than may wait are refused, and those that wait go on', async (t) => {
  const inserts = new Inserts(t, { placesMax: 1, waitingMax: 1 })
  const first = inserts.start('a 1')
  const second = inserts.start('b 1')
  await t.rejects(inserts.start('c 1'), { name: 'StoreError', message: /^Too many statements wait/ })
  inserts.end('a 1')
  await first
  await inserts.untilBegun('b 1')
  inserts.end('b 1')
  await second
  t.same(inserts.begun, ['a 1', 'b 1'])
})

t.test('an INSERT that fails gives its place back', async (t) => {
  const places = new InsertPlaces({ ...limits, placesMax: 1 })
  await t.rejects(
    places.use({ key: 'a' }, () => Promise.reject(new Error('refused'))),
    { message: 'refused' },
  )
  t.equal(await places.use({ key: 'b' }, async () => 'done'), 'done')
})

/** Runs one until it is slow, and ends it. */
async function untilEnded(inserts: Inserts, name: string): Promise<void> {
  const ended = inserts.start(name, () => inserts.end(name))
  await inserts.untilBegun(name)
  mock.timers.tick(limits.slowAfterMs)
  await ended
}

/** Runs one that ends at once. */
async function untilQuick(inserts: Inserts, name: string): Promise<void> {
  const ended = inserts.start(name)
  await inserts.untilBegun(name)
  inserts.end(name)
  await ended
}
