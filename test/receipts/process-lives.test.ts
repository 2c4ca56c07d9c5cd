import t from 'tap'
import { ProcessLives } from '../../src/receipts/process-lives.ts'

function openSettings() {
  const values = new Map<string, string>()
  return {
    values,
    read: (name: string) => values.get(name),
    write: async (name: string, value: string) => {
      values.set(name, value)
    },
  }
}

t.test('the places of a process end where the next one found the log', async (t) => {
  const settings = openSettings()
  const first = await ProcessLives.begin(settings, 0)
  t.match(first.processId, /^[\w-]{8}$/)
  t.equal(first.lastPlaceOf(first.processId), Number.MAX_SAFE_INTEGER)
  t.equal(first.lastPlaceOf('unknown1'), null)
  const second = await ProcessLives.begin(settings, 70)
  const third = await ProcessLives.begin(settings, 70)
  t.equal(new Set([first, second, third].map(({ processId }) => processId)).size, 3)
  t.same(third.secret, first.secret)
  t.equal(third.lastPlaceOf(first.processId), 70)
  t.equal(third.lastPlaceOf(second.processId), 70)
  t.equal(third.lastPlaceOf(third.processId), Number.MAX_SAFE_INTEGER)
})

t.test('a log that began anew has nothing to do with the processes before', async (t) => {
  const settings = openSettings()
  const first = await ProcessLives.begin(settings, 70)
  const second = await ProcessLives.begin(settings, 69)
  t.equal(second.lastPlaceOf(first.processId), null)
})

t.test('the last 1,000 processes are known', async (t) => {
  const settings = openSettings()
  const first = await ProcessLives.begin(settings, 0)
  const second = await ProcessLives.begin(settings, 1)
  for (let start = 2; start < 999; start += 1) await ProcessLives.begin(settings, start)
  t.equal((await ProcessLives.begin(settings, 1_000)).lastPlaceOf(first.processId), 1)
  const next = await ProcessLives.begin(settings, 1_001)
  t.equal(next.lastPlaceOf(first.processId), null)
  t.equal(next.lastPlaceOf(second.processId), 2)
})
