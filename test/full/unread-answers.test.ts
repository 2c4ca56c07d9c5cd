import t, { type Test } from 'tap'
import { mebibyte } from '../../src/shared/bytes.ts'
import { openTestService, type TestService } from '../support/api/test-service.ts'
import { byTier } from '../support/tier.ts'

const limits = { resultFilesBytesMax: 50 * mebibyte, connectionIdleMsMax: 0, queryTimeMaxMs: 250_000 }
const service = await openTestService(t, limits)

/** 40 MB, more than the buffers of a connection take. */
const query = "SELECT repeat('x', 1000) FROM numbers(40000) FORMAT TSV"
const answerBytes = 40_040_000

async function askWithoutReading(t: Test, service: TestService) {
  const client = await service.openRaw()
  t.teardown(() => client.socket.destroy())
  client.send(service.head('GET', `/v0/sql?q=${encodeURIComponent(query)}`))
  const beginning = await client.until((text) => text.includes('\r\n\r\n'))
  client.socket.pause()
  t.match(beginning, /^HTTP\/1.1 200 /)
  return client
}

/** Asks until there is no room; a question that has an answer reads it. */
async function untilRefused(service: TestService) {
  for (;;) {
    const answer = await service.call('POST', '/v0/sql', { body: query })
    if (answer.status !== 200) return answer
  }
}

t.test('answers that nobody reads take a bounded part of the disk, and the next one is told so', async (t) => {
  const idle = await askWithoutReading(t, service)
  const refused = await untilRefused(service)
  t.match(refused, {
    status: 503,
    json: {
      error:
        /^There is no room for the answer: answers that .* take \d+ of 52428800 bytes on disk; repeat the query later$/,
      documentation: 'docs/errors.md#results_unread',
    },
  })
  t.equal(refused.headers.get('retry-after'), '5')
  t.equal(await service.sql('SELECT 1 FORMAT TSV'), '1\n', 'a small answer needs no room on disk')
  idle.socket.resume()
  await idle.until((text) => text.length > answerBytes)
  t.equal((await service.sql(query)).length, answerBytes, 'there is room again when it is read')
})

t.test('clients that leave without a word hold nothing', async (t) => {
  for (let count = 0; count < byTier({ quick: 1, full: 3, soak: 3 }); count += 1) {
    const idle = await askWithoutReading(t, service)
    await untilRefused(service)
    idle.socket.destroy()
    while ((await service.call('POST', '/v0/sql', { body: query })).status !== 200) await new Promise(setImmediate)
  }
})

// Of the requests that are sent ahead only the first has the connection; the others wait for their turn.
t.test('clients that leave behind requests sent ahead hold nothing, and nothing of theirs runs on', async () => {
  const path = `/v0/sql?q=${encodeURIComponent(query.replace('40000', '4000'))}`
  const endless = `/v0/sql?q=${encodeURIComponent('SELECT sum(sipHash64(number)) FROM numbers(1000000000000000)')}`
  for (const ahead of [service.head('GET', path).repeat(8), service.head('GET', endless).repeat(30)]) {
    const client = await service.openRaw()
    client.send(service.head('GET', `/v0/sql?q=${encodeURIComponent(query)}`), ahead)
    await client.until((text) => text.includes('\r\n\r\n'))
    client.socket.pause()
    client.socket.destroy()
    while ((await service.call('POST', '/v0/sql', { body: query })).status !== 200) await new Promise(setImmediate)
  }
})

t.test('a client that takes nothing of its answer is cut, and its room is free again', async (t) => {
  // A process can have one service open at a time.
  await service.close()
  const cutting = await openTestService(t, { resultFilesBytesMax: 50 * mebibyte, connectionIdleMsMax: 400 })
  const idle = await askWithoutReading(t, cutting)
  const entry = await cutting.log.until('A client that does not read its answer is disconnected.')
  t.match(entry, { level: 'warn', fields: { idleMsMax: 400, waitingBytes: Number, requestId: String } })
  while ((await cutting.call('POST', '/v0/sql', { body: query })).status !== 200) await new Promise(setImmediate)
  idle.socket.resume()
  await idle.end()
  t.ok(idle.text.length < answerBytes)
})

t.test('an answer that nobody reads, and a query that runs on, do not hold a close', async (t) => {
  const closing = await openTestService(t, { connectionIdleMsMax: 0, closeTimeoutMs: 4_000 })
  await closing.create('kept', 'n UInt32 `json:$.n`')
  const idle = await askWithoutReading(t, closing)
  const running = await closing.openRaw()
  t.teardown(() => running.socket.destroy())
  const endless = encodeURIComponent('SELECT sum(sipHash64(number)) FROM numbers(1000000000000000)')
  running.send(closing.head('GET', `/v0/sql?q=${endless}`))
  t.equal((await closing.events('kept', '{"n":1}')).status, 202)
  await closing.close()
  t.match(await closing.log.until('Connections were cut, as the service closes.'), {
    level: 'warn',
    fields: { count: 2 },
  })
  t.ok(idle.text.length < answerBytes)
})
