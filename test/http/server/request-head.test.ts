import t from 'tap'
import { createApp } from '../../../src/app.ts'
import { createFakeDeps, limits, token } from '../../support/http/fake-deps.ts'
import { listen } from '../../support/http/listening-app.ts'

const app = createApp(createFakeDeps(), limits)
const open = await listen(t, app)
const authorization = `Authorization: Bearer ${token}`

async function answerTo(lines: readonly string[], body = ''): Promise<string> {
  const client = await open()
  client.send(`${lines.join('\r\n')}\r\n\r\n${body}`)
  await client.until((text) => text.includes('\r\n\r\n'))
  client.socket.destroy()
  return client.text
}

t.test('a Host that is missing or none is a 400 of ours', async (t) => {
  const get = 'GET /v0/datasources HTTP/1.1'
  const refused = await answerTo([get, authorization])
  t.match(refused, /^HTTP\/1.1 400 [\s\S]*\{"error":"The request is not valid: it has no header Host"/)
  for (const host of ['a b', 'a"><b', 'a/b', 'a@b', 'a:b', '[::1', 'a:123456', 'a,b', 'a\\b']) {
    t.match(
      await answerTo([get, `Host: ${host}`, authorization]),
      /^HTTP\/1.1 400 [\s\S]*its header Host is not a name/,
      host,
    )
  }
  for (const host of ['', 'a', 'a.b-c_d:80', '127.0.0.1:7300', '[::1]:80', 'a:']) {
    t.match(await answerTo([get, `Host: ${host}`, authorization]), /^HTTP\/1.1 200 /, host)
  }
  t.match(await answerTo(['GET /v0/datasources HTTP/1.0', authorization]), /^HTTP\/1.1 200 /)
})

t.test('a Transfer-Encoding that is not undone is refused, and not taken for the body', async (t) => {
  const post = ['POST /v0/events?name=a HTTP/1.1', 'Host: a', authorization]
  for (const encoding of ['gzip, chunked', 'GZIP,chunked', 'identity, chunked', 'chunked, chunked']) {
    const answer = await answerTo([...post, `Transfer-Encoding: ${encoding}`], '0\r\n\r\n')
    t.match(answer, /^HTTP\/1.1 400 [\s\S]*\{"error":"The request is not valid: /, encoding)
  }
  t.match(await answerTo([...post, 'Transfer-Encoding: Chunked'], '0\r\n\r\n'), /^HTTP\/1.1 20\d /)
})

t.test('preflights are answered for every form of a path that the API has', async (t) => {
  for (const target of ['/v0/sql', '/%76%30/sql', '/v%30/sql?q=1', 'http://x/v0/sql', 'HTTP://x:80/%760/sql']) {
    const answer = await answerTo([`OPTIONS ${target} HTTP/1.1`, 'Host: a'])
    t.match(answer, /^HTTP\/1.1 204 [\s\S]*access-control-allow-methods: /i, target)
  }
  for (const target of ['*', '/', '/health/ready', '/%', 'http://v0/sql']) {
    t.match(await answerTo([`OPTIONS ${target} HTTP/1.1`, 'Host: a']), /^HTTP\/1.1 4\d\d /, target)
  }
})

t.test('a URL that is no path, and no http address either, is told so', async (t) => {
  for (const target of ['https://a:99999/v0/sql', 'http:///v0/sql', 'http://:80/v0/sql', 'ftp://a/v0/sql']) {
    const answer = await answerTo([`GET ${target} HTTP/1.1`, 'Host: a', authorization])
    t.match(answer, /^HTTP\/1.1 400 [\s\S]*its URL is neither a path nor an http address/, target)
  }
  t.match(await answerTo(['GET http://a/% HTTP/1.1', 'Host: a', authorization]), /400 [\s\S]*percent sign/)
})

t.test('a request that expects what nobody knows is told so', async (t) => {
  const get = (version: string) => [`GET /v0/datasources HTTP/${version}`, 'Host: a', authorization]
  const refused = await answerTo([...get('1.1'), 'Expect: foo'])
  t.match(refused, /^HTTP\/1.1 417 [\s\S]*x-request-id: \w{26}[\s\S]*#expectation_unknown"/i)
  t.match(await answerTo([...get('1.1'), 'Expect: 100-Continue']), /^HTTP\/1.1 [12]00 /)
  t.match(await answerTo([...get('1.0'), 'Expect: foo']), /^HTTP\/1.1 200 /)
})
