import t from 'tap'
import { createApp } from '../../src/app.ts'
import { createFakeDeps, limits, token } from '../support/http/fake-deps.ts'
import { listen } from '../support/http/listening-app.ts'

t.test('a header that decides who asks, and how, may stand once', async (t) => {
  const app = createApp(createFakeDeps(), limits)
  const open = await listen(t, app)
  const authorization = `Authorization: Bearer ${token}`
  const cases: readonly (readonly [lines: readonly string[], status: number])[] = [
    [['Host: a', authorization], 200],
    [['Host: a', 'Host: b', authorization], 400],
    [['Host: a', 'Host: a', authorization], 400],
    [['Host: a', authorization, 'hOST: b'], 400],
    [['Host: a', authorization, 'Authorization: Bearer other'], 400],
    [['Host: a', 'Authorization: Bearer other', authorization], 400],
    [['Host: a', 'authorization: Basic x', authorization], 400],
    [['Host: a', authorization, 'Content-Type: text/csv', 'Content-Type: text/plain'], 400],
    [['Host: a', authorization, 'Content-Encoding: gzip', 'Content-Encoding: gzip'], 400],
    [['Host: a', authorization, 'Content-Length: 0', 'Content-Length: 0'], 400],
    [['Host: a', authorization, 'Content-Length: 0', 'Content-Length: 1'], 400],
    [['Host: a', authorization, 'Transfer-Encoding: chunked', 'Content-Length: 1'], 400],
    [[authorization], 400],
    [['Host: a', authorization, 'Accept: a', 'Accept: b', 'X-Forwarded-Proto: https', 'Date: x', 'Date: y'], 200],
    [['Host: a', authorization, '__proto__: x', 'constructor: y', 'toString: z', 'hasOwnProperty: w'], 200],
  ]
  for (const [lines, status] of cases) {
    const client = await open()
    client.send(`GET /v0/datasources HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`)
    await client.until((text) => text.includes('\r\n\r\n'))
    t.equal(Number(client.text.split(' ')[1]), status, lines.join(' | '))
    client.socket.destroy()
  }
})
