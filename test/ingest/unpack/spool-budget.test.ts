import t from 'tap'
import type { Part } from '../../../src/codec/arrow/part.types.ts'
import { Semaphore } from '../../../src/ingest/semaphore.ts'
import { SpoolBudget } from '../../../src/ingest/unpack/spool-budget.ts'

function roomOf(bytesMax: number) {
  const discarded: string[] = []
  let count = 0
  const store = {
    newPartPath: () => `part-${count++}`,
    discard: async (parts: readonly Part[]) => {
      for (const part of parts) if ('path' in part) discarded.push(part.path)
    },
  }
  return { room: new SpoolBudget(store, { loadsMax: 2, bytesMax }), discarded }
}

t.test('files that are received hold no places, however many they are', async (t) => {
  const { room, discarded } = roomOf(1000)
  const slow = Array.from({ length: 10 }, () => room.newFile())
  for (const file of slow) file.grow(50)
  const file = room.newFile()
  file.grow(500)
  await file.enter(undefined)
  await file.close()
  await file.close()
  t.same(discarded, ['part-10'])
})

t.test('bytes beyond what all files may have are refused, and come free with the file', async (t) => {
  const { room } = roomOf(1000)
  const [first, second] = [room.newFile(), room.newFile()]
  first.grow(900)
  second.grow(100)
  t.throws(() => second.grow(1), { code: 'BODIES_TOO_MANY', status: 503 })
  await first.close()
  t.doesNotThrow(() => second.grow(900))
  t.throws(() => second.grow(1), { code: 'BODIES_TOO_MANY' })
})

t.test('who leaves the line takes no place from those behind', async (t) => {
  const { room } = roomOf(1000)
  const [first, second, gone, last] = [room.newFile(), room.newFile(), room.newFile(), room.newFile()]
  await first.enter(undefined)
  await second.enter(undefined)
  const client = new AbortController()
  const left = gone.enter(client.signal)
  const behind = last.enter(undefined)
  client.abort(new Error('it left'))
  await t.rejects(left, { message: 'it left' })
  await gone.close()
  await first.close()
  await t.resolves(behind)
  await t.rejects(room.newFile().enter(client.signal), { message: 'it left' }, 'one that left before')
})

t.test('a place that was given stays taken when its signal is aborted later', async (t) => {
  const places = new Semaphore(1)
  await places.acquire()
  const client = new AbortController()
  const next = places.acquire(client.signal)
  places.release()
  await next
  client.abort()
  let isTaken = false
  const behind = places.acquire().then(() => {
    isTaken = true
  })
  await new Promise((resolve) => setImmediate(resolve))
  t.notOk(isTaken)
  places.release()
  await behind
})
