import t from 'tap'
import { StorageLimit } from '../../src/limits/storage-limit.ts'

function open(storageBytesMax = 1_000) {
  const clock = { nowMs: 0 }
  const stored = { bytes: 0, lookCount: 0, failure: null as Error | null }
  const warnings: string[] = []
  const usedBytes = async () => {
    stored.lookCount += 1
    if (stored.failure !== null) throw stored.failure
    return stored.bytes
  }
  const logger = { warn: (_fields: object, message: string) => void warnings.push(message) }
  const limit = new StorageLimit({ storageBytesMax }, { usedBytes, logger, now: () => clock.nowMs })
  const isRefused = async () => (await limit.refusal()) !== null
  return { clock, stored, limit, isRefused, warnings }
}

t.test('rows are refused above the limit, and neither below nor at it', async (t) => {
  for (const [bytes, refused] of [
    [999, false],
    [1_000, false],
    [1_001, true],
  ] as const) {
    const { stored, limit, isRefused } = open()
    stored.bytes = bytes
    await limit.look()
    t.equal(await isRefused(), refused, `${bytes}`)
    t.match(await limit.refusal(), refused ? { code: 'STORAGE_EXCEEDED', status: 400, limit: 'storage' } : null)
  }
})

t.test('while there is room nobody waits, and it is looked at every ten seconds', async (t) => {
  const { clock, stored, limit, isRefused } = open()
  await limit.look()
  stored.bytes = 2_000
  clock.nowMs = 9_999
  t.equal(limit.refusal(), null)
  t.equal(stored.lookCount, 1)
  clock.nowMs = 10_000
  t.equal(limit.refusal(), null, 'the look has begun')
  t.equal(limit.refusal(), null, 'and is one for all')
  await limit.look()
  t.equal(stored.lookCount, 2)
  t.equal(await isRefused(), true)
})

t.test('while there is none it is looked at once a second, so that what was removed counts', async (t) => {
  const { clock, stored, limit, isRefused } = open()
  stored.bytes = 1_001
  await limit.look()
  stored.bytes = 1_000
  clock.nowMs = 999
  t.equal(await isRefused(), true)
  t.equal(stored.lookCount, 1)
  clock.nowMs = 1_000
  t.same(await Promise.all([isRefused(), isRefused(), isRefused()]), [false, false, false])
  t.equal(stored.lookCount, 2)
})

t.test('a look that fails leaves what was known, and is tried again', async (t) => {
  const { clock, stored, limit, isRefused, warnings } = open()
  stored.failure = new Error('the engine starts again')
  await limit.look()
  t.equal(await isRefused(), false)
  stored.failure = null
  stored.bytes = 1_001
  clock.nowMs = 10_000
  await limit.look()
  stored.failure = new Error('once more')
  clock.nowMs = 20_000
  t.equal(await isRefused(), true)
  t.equal(warnings.length, 2)
})
