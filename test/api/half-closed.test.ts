import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { openTestService } from '../support/api/test-service.ts'

const service = await openTestService(t)
await service.create('a', 'n UInt32')
await service.create('e', 'n UInt32 `json:$.n`')
await service.call('POST', '/v0/pipes?name=p&sql=SELECT+7+AS+n')
await service.call('POST', '/v0/pipes/p/nodes/p_0/endpoint')

const append = '/v0/datasources?name=a&mode=append'
/** Runs for a while on any machine, and not for ever. */
const long = '/v0/sql?q=SELECT+count()+FROM+numbers(200000000)+WHERE+sipHash64(number)=1+FORMAT+TSV'

/** What stands in front of an answer that takes long. */
const interim = '(?:HTTP/1.1 100 Continue\r\n\r\n)*'

/** All that comes back to who sends this and closes its sending side. */
async function ask(t: Test, ...parts: readonly (string | Buffer)[]): Promise<string> {
  const client = await service.openRaw()
  t.teardown(() => client.socket.destroy())
  client.send(...parts)
  client.socket.end()
  await client.end()
  return client.text
}

function withBody(path: string, body: string | Buffer, ...lines: readonly string[]): readonly (string | Buffer)[] {
  return [service.head('POST', path, `Content-Length: ${Buffer.byteLength(body)}`, ...lines), body]
}

t.test('a client that closes its sending side behind a whole request gets its answer', async (t) => {
  const form = '--x\r\nContent-Disposition: form-data; name="csv"; filename="f.csv"\r\n\r\n1\n2\n\r\n--x--\r\n'
  const chunked = '4\r\n1\n2\n\r\n0\r\n\r\n'
  const cases: readonly { sent: readonly (string | Buffer)[]; status: number; body: RegExp }[] = [
    { sent: [service.head('GET', '/health/live')], status: 200, body: /live/ },
    { sent: [service.head('GET', '/v0/datasources/a')], status: 200, body: /"name":"a"/ },
    { sent: [service.head('GET', '/v0/sql?q=SELECT+41%2B1+FORMAT+TSV')], status: 200, body: /42/ },
    { sent: [service.head('GET', '/v0/pipes/p.csv')], status: 200, body: /"n"\r?\n7/ },
    { sent: [service.head('GET', '/v0/nothing')], status: 404, body: /"error"/ },
    { sent: withBody('/v0/sql', 'SELECT 40 + 3 FORMAT TSV'), status: 200, body: /43/ },
    { sent: withBody('/v0/sql', 'SELECT nothing'), status: 400, body: /"error"/ },
    { sent: withBody('/v0/events?name=e', '{"n":1}\n'), status: 202, body: /"successful_rows":1/ },
    { sent: withBody('/v0/events?name=e&wait=true', '{"n":2}\n'), status: 200, body: /"successful_rows":1/ },
    { sent: withBody(append, '1\n2\n'), status: 200, body: /"imported_rows":2/ },
    { sent: withBody(append, gzipSync('1\n2\n')), status: 200, body: /"imported_rows":2/ },
    { sent: withBody(`${append}&progress=true`, '1\n2\n'), status: 200, body: /"imported_rows":2/ },
    {
      sent: withBody(append, form, 'Content-Type: multipart/form-data; boundary=x'),
      status: 200,
      body: /"imported_rows":2/,
    },
    {
      sent: [service.head('POST', append, 'Transfer-Encoding: chunked'), chunked],
      status: 200,
      body: /"imported_rows":2/,
    },
    { sent: [service.head('GET', '/v0/pipes/p.json').replace('HTTP/1.1', 'HTTP/1.0')], status: 200, body: /"n": ?7/ },
    { sent: [service.head('GET', "/v0/sql?q=SELECT+repeat('x',1000)+FROM+numbers(5000)")], status: 200, body: /x/ },
  ]
  for (const { sent, status, body } of cases) {
    const text = await ask(t, ...sent)
    const name = String(sent[0]).split('\r\n')[0] ?? ''
    t.match(text, new RegExp(`^${interim}HTTP/1.1 ${status} `), name)
    t.match(text, body, name)
  }
})

t.test('a client that waits long for its answer gets it behind interim ones', async (t) => {
  const text = await ask(t, service.head('GET', long))
  t.match(text, new RegExp(`^${interim}HTTP/1.1 (?:200|408) `))
})

t.test('all requests that were sent ahead are answered, in their order', async (t) => {
  const numbers = Array.from({ length: 20 }, (_, index) => index + 100)
  const text = await ask(
    t,
    numbers.map((number) => service.head('GET', `/v0/sql?q=SELECT+${number}+FORMAT+TSV`)).join(''),
  )
  t.same(
    [...text.matchAll(/\r\n(\d{3})\n/g)].map(([, number]) => Number(number)),
    numbers,
  )
})

t.test('a connection without a request, or with a part of one, ends', async (t) => {
  t.equal(await ask(t), '')
  t.match(await ask(t, 'GET / HTTP/1.1\r\nHost: x\r\n'), /^(?:HTTP\/1.1 400 |$)/)
  const kept = await service.openRaw()
  t.teardown(() => kept.socket.destroy())
  kept.send(service.head('GET', '/health/live'))
  t.equal((await kept.answer()).status, 200)
  kept.socket.end()
  await kept.end()
  t.equal(kept.text, '')
})
