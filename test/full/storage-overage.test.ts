// Storage that is used up, over the whole service: what is refused then, and what is not.

import t, { type Test } from 'tap'
import { liveOn, type TestService } from '../support/api/test-service.ts'
import { openRemoteServer } from '../support/remote-server.ts'
import { createTestDirectory } from '../support/store/test-store.ts'

interface Shown {
  readonly limits: readonly {
    readonly name: string
    readonly used: number
    readonly status: string
    readonly refused: number
  }[]
}

async function storageOf(service: TestService) {
  const { json } = await service.call('GET', '/v0/limits')
  // Other tests check the shape.
  const row = (json as Shown).limits.find(({ name }) => name === 'storage')
  if (row === undefined) throw new Error('storage is a limit')
  return row
}

/** A directory with rows in one part, which no merge changes, and how many bytes they have. */
async function storedRows(t: Test): Promise<{ readonly path: string; readonly bytes: number }> {
  const directory = await createTestDirectory()
  t.teardown(() => directory.remove())
  const service = await liveOn(t, directory.path)
  await service.create('visits', 'id UInt32')
  await service.append('visits', 'ndjson', '{"id":1}\n{"id":2}\n')
  const { used } = await storageOf(service)
  await service.close()
  return { path: directory.path, bytes: used }
}

const form = (name: string) => {
  const data = new FormData()
  data.append('ndjson', new Blob(['{"id":1}\n']), 'rows.ndjson')
  return { path: `/v0/datasources?name=${name}&mode=create&format=ndjson&schema=id+UInt32`, data }
}

t.test('rows are taken up to the limit, and above it where they are only told of', async (t) => {
  for (const [roomBytes, storageOverage, status] of [
    [1, 'refuse', 200],
    [0, 'refuse', 200],
    [-1, 'tell', 200],
    [-1, 'refuse', 400],
  ] as const) {
    const { path, bytes } = await storedRows(t)
    const service = await liveOn(t, path, { storageBytesMax: bytes + roomBytes, storageOverage })
    const answer = await service.append('visits', 'ndjson', '{"id":3}')
    t.equal(answer.status, status, `${roomBytes} bytes of room, ${storageOverage}: ${answer.text}`)
    await service.close()
  }
})

t.test('above the limit nothing that brings rows is taken, nothing is half done, and the caller is told', async (t) => {
  const { path, bytes } = await storedRows(t)
  const service = await liveOn(t, path, { storageBytesMax: bytes - 1, storageOverage: 'refuse' })
  const remote = await openRemoteServer(t, (_request, response) => response.end('{"id":1}\n'))
  const { path: create, data } = form('made')
  const url = `/v0/datasources?name=fetched&format=ndjson&url=${encodeURIComponent(`${remote.origin}/a.ndjson`)}`
  const answers = [
    await service.append('visits', 'ndjson', '{"id":3}'),
    await service.call('POST', '/v0/datasources?name=visits&mode=replace&format=ndjson', { body: '{"id":3}' }),
    await service.call('POST', create, { body: data }),
    await service.call('POST', url),
    await service.events('visits', '{"id":3}'),
    await service.events('visits', '{"id":3}', { wait: 'true' }),
    await service.events('new', '{"id":3}'),
  ]
  for (const { status, text, json } of answers) {
    t.equal(status, 400, text)
    t.match(json, { error: /are stored, more than the .* \(limit "storage"\); nothing was taken: remove rows/ })
    t.match(json, { documentation: /#storage_exceeded$/ })
  }
  t.match(await storageOf(service), { used: bytes, status: 'reached', refused: answers.length })
  t.equal(await service.count('visits'), 2)
  for (const name of ['made', 'fetched', 'new']) {
    t.equal((await service.call('GET', `/v0/datasources/${name}`)).status, 404, name)
  }
  t.equal((await service.create('empty', 'id UInt32')).status, 200, 'a schema alone brings no rows')
  const dry = await service.call('POST', '/v0/datasources?name=visits&mode=append&format=ndjson&dry=true', {
    body: '{"id":3}',
  })
  t.equal(dry.status, 200, dry.text)
})

t.test('rows can be removed above the limit, and then there is room again', async (t) => {
  const { path, bytes } = await storedRows(t)
  const service = await liveOn(t, path, { storageBytesMax: bytes - 1, storageOverage: 'refuse' })
  t.equal((await service.events('visits', '{"id":3}')).status, 400)
  t.equal((await service.call('POST', '/v0/datasources/visits/truncate')).status, 205)
  // What is stored is looked at once a second.
  let answer = await service.events('visits', '{"id":3}', { wait: 'true' })
  while (answer.status === 400) answer = await service.events('visits', '{"id":3}', { wait: 'true' })
  t.equal(answer.status, 200, answer.text)
  t.same(await service.rows('SELECT id FROM visits'), [['3']])
})

t.test('events that were taken are answered as before when they are repeated, and stored', async (t) => {
  const { path, bytes } = await storedRows(t)
  const key = { headers: { 'idempotency-key': 'one' } }
  const first = await liveOn(t, path, { storageBytesMax: bytes, storageOverage: 'refuse' })
  t.equal((await first.events('visits', '{"id":3}', {}, key)).status, 202)
  await first.untilStored('visits')
  await first.close()
  const second = await liveOn(t, path, { storageBytesMax: bytes - 1, storageOverage: 'refuse' })
  t.equal((await second.events('visits', '{"id":3}', {}, key)).status, 202)
  t.equal((await second.events('visits', '{"id":4}', {}, { headers: { 'idempotency-key': 'two' } })).status, 400)
  t.equal((await second.events('visits', '{"id":4}', {}, { headers: { 'idempotency-key': 'two' } })).status, 400)
  t.equal(await second.count('visits'), 3)
})
