// Clients that leave at once: their statements are stopped together, whatever the first KILL QUERY takes.

import t from 'tap'
import type { EngineSession } from '../../src/store/embedded/engine-session.types.ts'
import { SessionPool } from '../../src/store/embedded/session-pool.ts'
import { StatementStops } from '../../src/store/embedded/statement-stops.ts'
import { silentLogger } from '../support/store/test-store.ts'

interface Kill {
  readonly sql: string
  readonly end: () => void
  readonly fail: (error: Error) => void
}

/** A session whose statements end when the test says so. */
function openStops() {
  const kills: Kill[] = []
  let tell: () => void = () => undefined
  const run = (sql: string): Promise<string> =>
    new Promise((resolve, fail) => {
      kills.push({ sql, end: () => resolve(''), fail })
      tell()
    })
  const nextKill = async (): Promise<Kill> => {
    if (kills.length === 0) {
      await new Promise<void>((resolve) => {
        tell = resolve
      })
    }
    const kill = kills.shift()
    if (kill === undefined) throw new Error('a statement was told and is not there')
    return kill
  }
  // Nothing else of a session is used.
  const session = { run } as unknown as EngineSession
  const pool = new SessionPool({ purpose: 'stop', sessions: [session], waitingMax: 1 })
  return { stops: new StatementStops(pool, silentLogger), nextKill, pool }
}

const namesOf = ({ sql }: Kill): readonly string[] => sql.match(/select-\d+/g) ?? []

t.test('statements that are to end while others are stopped are stopped together, at once', async (t) => {
  const { stops, nextKill } = openStops()
  const ends = [stops.begin('select-1')]
  const first = await nextKill()
  t.same(namesOf(first), ['select-1'])
  t.match(first.sql, /^KILL QUERY WHERE .* ASYNC$/)
  for (let id = 2; id <= 100; id += 1) ends.push(stops.begin(`select-${id}`))
  first.end()
  const second = await nextKill()
  t.equal(namesOf(second).length, 100)
  for (const end of ends.slice(10)) end()
  second.end()
  const third = await nextKill()
  t.equal(namesOf(third).length, 10, 'those that have not ended are stopped once more')
  for (const end of ends) end()
  third.end()
  stops.begin('select-101')
  t.same(namesOf(await nextKill()), ['select-101'], 'those that have ended are not')
})

t.test('a KILL QUERY that fails is told, and the next ones are stopped all the same', async (t) => {
  const { stops, nextKill } = openStops()
  stops.begin('select-1')
  const first = await nextKill()
  first.fail(new Error('the engine has ended'))
  stops.begin('select-2')
  t.same(namesOf(await nextKill()), ['select-2'])
})
