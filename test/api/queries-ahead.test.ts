import t from 'tap'
import { openPipeService } from '../support/api/pipe-service.ts'
import { openTestService } from '../support/api/test-service.ts'

const heavy = 'SELECT sum(sipHash64(number)) FROM numbers(1000000) FORMAT TSV'
const clientCount = 6
const aheadCount = 40

t.test('clients that send many queries ahead let others have their turn', async (t) => {
  const pipes = await openPipeService(t)
  const { service } = pipes
  await pipes.create('heavy', heavy.replace(' FORMAT TSV', ''))
  t.equal((await service.call('PUT', '/v0/pipes/heavy/endpoint', { body: 'n0' })).status, 200)
  for (const path of [`/v0/sql?q=${encodeURIComponent(heavy)}`, '/v0/pipes/heavy.json']) {
    const clients = await Promise.all(Array.from({ length: clientCount }, () => service.openRaw()))
    for (const client of clients) {
      t.teardown(() => client.socket.destroy())
      client.send(service.head('GET', path).repeat(aheadCount))
    }
    // The requests of a client come in one read, and run before its first answer is out.
    await Promise.all(clients.map((client) => client.until((text) => text.includes('\r\n\r\n'))))
    t.equal(await service.sql('SELECT 1 FORMAT TSV'), '1\n')
    const answers = clients.map(({ text }) => text.split('HTTP/1.1 ').length - 1)
    const answerCount = answers.reduce((sum, count) => sum + count, 0)
    t.ok(answerCount < (clientCount * aheadCount) / 2, `${path}: the other caller was answered after ${answers.join()}`)
    for (const client of clients) client.socket.destroy()
  }
})

t.test('a query that fails lets those that were sent behind it run', async (t) => {
  const service = await openTestService(t)
  const client = await service.openRaw()
  t.teardown(() => client.socket.destroy())
  const head = (query: string): string => service.head('GET', `/v0/sql?q=${encodeURIComponent(query)}`)
  client.send(head('SELECT 1 FORMAT TSV') + head("SELECT throwIf(1, 'no')") + head('SELECT 3 FORMAT TSV'))
  const text = await client.until((text) => /HTTP\/1.1 200 .*HTTP\/1.1 400 .*HTTP\/1.1 200 .*\r\n\r\n3\n$/s.test(text))
  t.same(
    [...text.matchAll(/HTTP\/1.1 (\d+)/g)].map(([, status]) => status),
    ['200', '400', '200'],
  )
})
