import t from 'tap'
import { mebibyte } from '../../src/shared/bytes.ts'
import { openTestService } from '../support/api/test-service.ts'
import { byTier } from '../support/tier.ts'

const service = await openTestService(t)
const form = 'Content-Type: application/x-www-form-urlencoded'

t.test('who has no token is answered before the rest of his body has come', async (t) => {
  const paths = ['/v0/sql', '/v0/datasources?name=a', '/v0/pipes', '/v0/analyze', '/v0/variables']
  for (const path of paths) {
    for (const begin of [`q=${'x'.repeat(9_000)}`, `q=1${'&a='.repeat(3_000)}`, `{"a":"${'x'.repeat(9_000)}`]) {
      const client = await service.openRaw()
      client.send(`POST ${path} HTTP/1.1\r\nHost: a\r\n${form}\r\nContent-Length: 8000000\r\n\r\n`, begin)
      const head = await client.until((text) => text.includes('\r\n\r\n'))
      t.match(head, /^HTTP\/1.1 403 /, path)
      client.socket.destroy()
    }
    const client = await service.openRaw()
    const chunks = '1\r\nx\r\n'.repeat(byTier({ quick: 20_000, full: 40_000, soak: 100_000 }))
    client.send(`POST ${path} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n`, chunks)
    t.match(await client.until((text) => text.includes('\r\n\r\n')), /^HTTP\/1.1 403 /, 'chunks of one byte')
    client.socket.destroy()
  }
})

t.test('an import of very many chunks of one byte ends with 400, whatever form it has', async (t) => {
  await service.create('chunks', 'id UInt32')
  const form = '--b\r\nContent-Disposition: form-data; name="csv"; filename="a.csv"\r\n\r\n'
  const chunksOf = (text: string): string => Array.from(text, (character) => `1\r\n${character}\r\n`).join('')
  const lineCount = byTier({ quick: 20_000, full: 40_000, soak: 100_000 })
  const ways = [
    { path: '/v0/datasources?name=chunks&mode=append', more: [], begin: '' },
    { path: '/v0/datasources?name=chunks&mode=append&format=ndjson', more: [], begin: '' },
    { path: '/v0/datasources?name=chunks&mode=replace', more: [], begin: '' },
    {
      path: '/v0/datasources?name=chunks&mode=append',
      more: ['Content-Type: multipart/form-data; boundary=b'],
      begin: form,
    },
    { path: '/v0/analyze', more: [], begin: '' },
  ]
  for (const { path, more, begin } of ways) {
    const client = await service.openRaw()
    client.send(
      service.head('POST', path, 'Transfer-Encoding: chunked', ...more),
      chunksOf(`${begin}${'1\n'.repeat(lineCount)}`),
    )
    const text = await client.until((text) => text.includes('less than 32 bytes'))
    t.match(text, /^HTTP\/1.1 400 /, `${path} ${more.join()}`)
    client.socket.destroy()
  }
  const rows = new Blob([Array.from({ length: 10_000 }, (_, n) => `${n}\n`).join('')])
  t.equal((await service.call('POST', '/v0/datasources?name=chunks&mode=append', { body: rows.stream() })).status, 200)
  await service.call('DELETE', '/v0/datasources/chunks')
})

t.test('events of very many keys or levels create nothing, and are told why', async (t) => {
  const object = (count: number): string => `{${Array.from({ length: count }, (_, n) => `"k${n}":1`).join(',')}}`
  const cases: readonly (readonly [name: string, body: string, error: RegExp])[] = [
    ['keys_501', object(501), /need more than 500 columns/],
    ['keys_600000', object(600_000), /more than 100000 keys/],
    ['keys_nested', `{"a":${object(300)},"b":${object(300)}}`, /need more than 500 columns/],
    ['keys_in_many', Array.from({ length: 600 }, (_, n) => `{"k${n}":1}`).join('\n'), /need more than 500 columns/],
    ['brackets', `{"a":${'['.repeat(4_000_000)}${']'.repeat(4_000_000)}}`, /nested deeper than 500 levels/],
    ['brackets_open', '['.repeat(9_000_000), /nested deeper than 500 levels/],
    ['braces', `${'{"a":'.repeat(1_000_000)}1${'}'.repeat(1_000_000)}`, /nested deeper than 500 levels/],
  ]
  for (const [name, body, error] of cases) {
    for (const format of ['ndjson', 'json']) {
      const answer = await service.events(name, body, { format })
      if (format === 'json' && /many|open/.test(name)) t.equal(answer.status, 400, name)
      else t.match(answer, { status: 400, json: { error } }, `${name} as ${format}`)
    }
    t.equal((await service.call('GET', `/v0/datasources/${name}`)).status, 404, `${name} is not created`)
    const analyzed = await service.call('POST', '/v0/analyze?format=ndjson', { body })
    t.equal(analyzed.status, 400, `${name} analyzed`)
  }
  t.match(await service.call('GET', '/v0/datasources'), { json: { datasources: [] } })
  t.equal((await service.events('keys_500', object(500), { wait: 'true' })).status, 200)
  t.equal(await service.count('keys_500'), 1)
  await service.call('DELETE', '/v0/datasources/keys_500')
})

t.test('files of very many columns create nothing', async (t) => {
  for (const [name, csv] of Object.entries({
    header: Array.from({ length: 20_000 }, (_, n) => `c${n}`).join(','),
    commas: ','.repeat(100_000),
    rows: `${Array.from({ length: 501 }, (_, n) => n).join(',')}\n`.repeat(3),
  })) {
    const body = `${csv}\n`
    for (const path of [`/v0/datasources?name=${name}`, `/v0/datasources?name=${name}&dry=true`, '/v0/analyze']) {
      const answer = await service.call('POST', path, { body, headers: { 'content-type': 'text/csv' } })
      t.match(answer, { status: 400, json: { error: /more than 500 columns/ } }, `${name} at ${path}`)
    }
  }
  t.match(await service.call('GET', '/v0/datasources'), { json: { datasources: [] } })
})

t.test('what a client held that went away is free for others', async (t) => {
  // A process can have one service open at a time.
  await service.close()
  const small = await openTestService(t, { bodiesBytesMax: 4 * mebibyte })
  const rest = 'x'.repeat(3 * mebibyte)
  const query = (): Promise<{ readonly status: number }> =>
    small.call('POST', '/v0/sql', { body: `q=SELECT 1 FORMAT TSV&x=${rest}` })
  for (const begin of [`q=SELECT+1&x=${rest}`, `{"q":"${rest}`]) {
    let isHeld = false
    while (!isHeld) {
      const holder = await small.openRaw()
      holder.send(small.head('POST', '/v0/sql', form, 'Content-Length: 8000000'), begin)
      // A query that came before its bytes may have had it refused instead.
      while (!isHeld && holder.text === '') isHeld = (await query()).status === 503
      holder.socket.destroy()
    }
    while ((await query()).status === 503);
    t.equal((await query()).status, 200)
  }
})
