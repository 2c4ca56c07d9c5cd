import { gzipSync } from 'node:zlib'
import { compress } from '@mongodb-js/zstd'
import t from 'tap'
import { openTestService, severalWorkers } from '../support/api/test-service.ts'

const service = await openTestService(t, { ...severalWorkers, eventsBodyBytesMax: 100_000 })
const schema = 'n UInt32 `json:$.n`, word String `json:$.word`'
const body = '{"n":1,"word":"a"}\n{"n":2,"word":"ü"}\n{"n":-3,"word":"c"}\n'
const counts = { successful_rows: 2, quarantined_rows: 1 }

t.test('events are stored when their waiting sender is answered, however they are packed and sent', async (t) => {
  const ways = {
    plain: { body },
    bytes: { body: Buffer.from(body) },
    chunked: { body: new Blob([body]).stream() },
    gzip: { body: gzipSync(body), headers: { 'content-encoding': 'gzip' } },
    'x-gzip': { body: gzipSync(body), headers: { 'content-encoding': 'X-GZIP' } },
    zstd: { body: await compress(Buffer.from(body)), headers: { 'content-encoding': 'zstd' } },
    'as JSON': { body, headers: { 'content-type': 'application/json' } },
    'as a form, as curl does': { body, headers: { 'content-type': 'application/x-www-form-urlencoded' } },
    'as text, with a byte order mark': { body: `\ufeff${body}`, headers: { 'content-type': 'text/plain' } },
  }
  for (const [way, call] of Object.entries(ways)) {
    await service.create('ways', schema)
    const { status, json, headers } = await service.events('ways', call.body, { wait: 'true' }, call)
    t.equal(status, 200, way)
    t.strictSame(json, counts, way)
    t.equal(headers.get('content-type'), 'application/json', 'one client reads the text itself only when it is so')
    t.same(
      await service.rows('SELECT n, word FROM ways ORDER BY n'),
      [
        ['1', 'a'],
        ['2', 'ü'],
      ],
      way,
    )
    t.equal(await service.count('ways_quarantine'), 1, way)
    await service.call('DELETE', '/v0/datasources/ways')
  }
})

t.test('who waits hears 200, who does not hears 202', async (t) => {
  await service.create('waiting', schema)
  const statuses = { true: 200, TRUE: 200, '1': 200, false: 202, '0': 202, '': 202 }
  for (const [wait, status] of Object.entries(statuses)) {
    t.match(await service.events('waiting', body, { wait }), { status, json: counts }, `wait=${wait}`)
  }
  t.match(await service.events('waiting', body, { wait: 'maybe' }), { status: 400 })
  t.match(await service.events('waiting', body, { format: 'ndjson', mode: 'append', from: 'sdk' }), { status: 202 })
  t.match(await service.events('waiting', body, { format: 'xml' }), { status: 400 })
  await service.untilStored('waiting')
  t.equal(await service.count('waiting'), 2 * 7)
})

t.test('one message may be written over many lines', async (t) => {
  await service.create('pretty', 'n UInt32, tags Array(String), nested String `json:$.inner`')
  const message = { n: 7, tags: ['a', 'b\nc'], inner: { x: [1, 2] } }
  const pretty = JSON.stringify(message, null, 2)
  const first = await service.events('pretty', `\n ${pretty}\r\n\n`, { format: 'json', wait: 'true' })
  t.match(first, { status: 200, json: { successful_rows: 1 } })
  t.same(await service.rows("SELECT n, tags, JSONExtractRaw(nested, 'x') FROM pretty"), [
    ['7', "['a','b\\nc']", '[1,2]'],
  ])
  const packed = { headers: { 'content-encoding': 'gzip' } }
  const answer = await service.events('pretty', gzipSync(pretty), { format: 'json' }, packed)
  t.match(answer, { json: { successful_rows: 1, quarantined_rows: 0 } })
  for (const wrong of [`${pretty}${pretty}`, '[1]', `[${pretty},]`, '{"n":', 'text']) {
    const refused = await service.events('pretty', wrong, { format: 'json' })
    t.match(refused, { status: 202, json: { successful_rows: 0, quarantined_rows: 1 } }, wrong.slice(0, 20))
  }
  t.match(await service.events('pretty', pretty), { json: { successful_rows: 0 } }, 'as lines it is none')
})

t.test('an array holds a message in each of its elements', async (t) => {
  await service.create('arrays', 'n UInt32, tags Array(String)')
  const messages = [1, 2, -3].map((n) => ({ n, tags: ['a,b', ']', '"', '{'] }))
  const array = { format: 'json', wait: 'true' }
  for (const text of [JSON.stringify(messages), ` ${JSON.stringify(messages, null, 2)}\n`]) {
    t.match(await service.events('arrays', text, array), { status: 200, json: counts })
  }
  t.match(await service.events('arrays', '[{"n":4,"tags":[]}, 5, "x"]', array), {
    json: { successful_rows: 1, quarantined_rows: 2 },
  })
  t.match(await service.events('arrays', ' [ ] ', array), { json: { successful_rows: 0, quarantined_rows: 0 } })
  t.same(await service.rows('SELECT n, count(), any(length(tags)) FROM arrays GROUP BY n ORDER BY n'), [
    ['1', '2', '4'],
    ['2', '2', '4'],
    ['4', '1', '0'],
  ])
})

t.test('a body without events is no fault', async (t) => {
  await service.create('silent', schema)
  const empty = { status: 200, json: { successful_rows: 0, quarantined_rows: 0 } }
  t.match(await service.call('POST', '/v0/events?name=silent'), empty)
  t.match(await service.events('silent', ''), empty)
  t.match(await service.events('nobody', ''), empty, 'one client asks so whether the service is there')
  t.match(await service.events('silent', new Blob([]).stream()), empty)
  t.match(await service.events('silent', '', {}, { headers: { 'content-encoding': 'gzip' } }), empty)
  t.match(await service.events('silent', '\n \r\n\n'), { json: empty.json })
  t.match(await service.events('silent', ' \n', { format: 'json' }), { json: empty.json })
  t.equal(await service.count('silent'), 0)
})

t.test('a request that is wrong is told why, and stores nothing', async (t) => {
  await service.create('strict', schema)
  t.match(await service.call('POST', '/v0/events', { body }), {
    status: 400,
    json: { error: 'Parameter "name" is required' },
  })
  t.match(await service.events('no-body', body), { status: 400, json: { error: /"no-body" is not a valid name/ } })
  for (const token of [null, 'p.another.token', '']) {
    const answer = await service.events('strict', body, {}, { token })
    t.match(answer, { status: 403, json: { error: String, documentation: String } }, String(token))
  }
  t.match(await service.events('strict', body, { token: 'p.test.token' }, { token: null }), { status: 202 })
  t.match(await service.events('strict', Buffer.from([1, 2, 3]), {}, { headers: { 'content-encoding': 'gzip' } }), {
    status: 400,
  })
  t.match(await service.call('GET', '/v0/events?name=strict'), { status: 405 })
  await service.untilStored('strict')
  t.equal(await service.count('strict'), 2)
})

t.test('a body that is too large is refused before it is read', async (t) => {
  await service.create('large', schema)
  const client = await service.openRaw()
  t.teardown(() => client.socket.destroy())
  client.send(service.head('POST', '/v0/events?name=large', 'Content-Length: 100001'))
  const announced = await client.answer()
  t.equal(announced.status, 413)
  t.match(announced.body, {
    error: 'The body is larger than 100000 bytes',
    documentation: 'docs/errors.md#payload_too_large',
  })
  t.match(await service.events('large', new Blob([Buffer.alloc(100_001, '\n')]).stream()), { status: 413 }, 'chunked')
  const bomb = Buffer.alloc(5_000_000, body)
  for (const [encoding, packed] of [
    ['gzip', gzipSync(bomb)],
    ['zstd', await compress(bomb)],
  ] as const) {
    const answer = await service.events('large', packed, {}, { headers: { 'content-encoding': encoding } })
    t.match(answer, { status: 413, json: { error: 'The body is larger than 100000 bytes when unpacked' } }, encoding)
  }
  t.equal(await service.count('large'), 0)
})

t.test('events that come at the same time are stored once, and each sender has its own counts', async (t) => {
  await service.create('crowd', schema)
  await service.create('crowd_too', schema)
  const senders = Array.from({ length: 200 }, (_, n) => n)
  const answers = await Promise.all(
    senders.map((n) => {
      // Each tenth sends a row that does not fit, each seventh three rows of which one does not, some one message.
      if (n % 10 === 0) return service.events('crowd', `{"n":"x${n}","word":"bad"}`)
      if (n % 7 === 0) return service.events('crowd', `{"n":${n},"word":"a"}\nno\n{"n":${n + 1000},"word":"b"}`)
      if (n % 3 === 0) return service.events('crowd', `{\n"n":${n},\n"word":"c"}`, { format: 'json' })
      return service.events(n % 2 === 0 ? 'crowd' : 'crowd_too', `{"n":${n},"word":"d"}`, { wait: 'true' })
    }),
  )
  for (const [n, { json }] of answers.entries()) {
    const expected = n % 10 === 0 ? [0, 1] : n % 7 === 0 ? [2, 1] : [1, 0]
    t.strictSame(json, { successful_rows: expected[0], quarantined_rows: expected[1] }, `sender ${n}`)
  }
  const stored = senders.flatMap((n) => (n % 10 === 0 ? [] : n % 7 === 0 ? [n, n + 1000] : [n]))
  await service.untilStored('crowd')
  await service.untilStored('crowd_too')
  const rows = await service.rows('SELECT n FROM crowd UNION ALL SELECT n FROM crowd_too')
  t.same(
    rows.map(([n]) => Number(n)).sort((a, b) => a - b),
    stored.sort((a, b) => a - b),
  )
  t.equal(await service.count('crowd_quarantine'), answers.filter((_, n) => n % 10 === 0 || n % 7 === 0).length)
  const parts = "SELECT count() FROM crowd WHERE word = 'd'"
  t.same(await service.rows(parts), [[String(senders.filter((n) => n % 10 && n % 7 && n % 3 && n % 2 === 0).length)]])
})

t.test('a data source that is missing is made of its first events', async (t) => {
  const event = { ts: '2026-01-01T10:00:00.123Z', user: { id: 7, name: 'u' }, tags: ['a'], n: 1, ok: true, note: null }
  const lines = `${JSON.stringify(event)}\nnonsense\n${JSON.stringify({ ...event, n: 1.5, note: 'x' })}`
  const made = await Promise.all([1, 2, 3].map(() => service.events('inferred', lines, { wait: 'true' })))
  for (const answer of made) t.match(answer, { status: 200, json: counts })
  const { json } = await service.call('GET', '/v0/datasources/inferred')
  t.match(json, {
    schema: {
      sql_schema:
        '`ts` DateTime64(3) `json:$.ts`, `user_id` Int64 `json:$.user.id`, `user_name` String `json:$.user.name`, ' +
        '`tags` Array(String) `json:$.tags[:]`, `n` Float64 `json:$.n`, `ok` Bool `json:$.ok`, `note` Nullable(String) `json:$.note`',
    },
  })
  t.same(await service.rows('SELECT user_id, tags, n, note FROM inferred ORDER BY n LIMIT 3, 1'), [
    ['7', "['a']", '1.5', 'x'],
  ])
  t.match(await service.events('empty_handed', '[1]\nx'), { status: 400, json: { error: /hold no JSON object/ } })
  for (const name of ['second', 'third', 'fourth', 'fifth']) {
    t.match(await service.events(name, '[{"a":1},{"a":2}]', { format: 'json' }), { json: { successful_rows: 2 } }, name)
  }
  const sixth = await service.events('sixth', '{"a":1}')
  t.match(sixth, { status: 429, json: { error: /may create 5 Data Sources a minute/ } })
  t.match(sixth.headers.get('retry-after'), /^(60|[1-5]?\d)$/)
  const known = await service.events('fifth', '{"a":3}')
  t.match(known, { status: 202 }, 'what is there already is no creation')
  t.equal(known.headers.get('x-datasource-created'), null)
})

t.test('who makes a data source by a name that is misspelt is told, and so is the log', async (t) => {
  const own = await openTestService(t, {})
  await own.create('page_views', schema)
  const answer = await own.events('page_veiws', '{"n":1}')
  t.equal(answer.headers.get('x-datasource-created'), 'page_veiws')
  const { level, fields } = await own.log.until('Events created a data source that did not exist.')
  t.match({ level, fields }, { level: 'warn', fields: { dataSource: 'page_veiws', nearest: 'page_views' } })
})

t.test('a request that is repeated under its key is stored once, and answered as before', async (t) => {
  await service.create('once', schema)
  const keyed = { headers: { 'idempotency-key': 'order 17' } }
  const answers = await Promise.all([1, 2, 3].map(() => service.events('once', body, { wait: 'true' }, keyed)))
  answers.push(await service.events('once', body, {}, keyed))
  t.same(
    answers.map(({ status }) => status),
    [200, 200, 200, 202],
  )
  for (const { json } of answers) t.strictSame(json, counts)
  t.equal(await service.count('once'), 2)
  t.equal(await service.count('once_quarantine'), 1)
  t.match(await service.events('once', '{"n":9,"word":"z"}', {}, keyed), { status: 422 }, 'another body')
  await service.create('once_too', schema)
  t.match(await service.events('once_too', body, { wait: 'true' }, keyed), { status: 200 }, 'another data source')
  t.equal(await service.count('once_too'), 2)
  const long = { headers: { 'idempotency-key': 'k'.repeat(256) } }
  t.match(await service.events('once', body, {}, long), { status: 400 })
})

t.test('when too much waits to be stored, senders are told to come back, and nobody is half stored', async (t) => {
  await service.close()
  const small = await openTestService(t, { eventsPendingBytesMax: 200 })
  await small.create('busy', schema)
  const event = (n: number): string => `{"n":${n},"word":"${'x'.repeat(60)}"}`
  const answers = await Promise.all(Array.from({ length: 40 }, (_, n) => small.events('busy', event(n))))
  const refused = answers.filter(({ status }) => status === 503)
  t.ok(refused.length > 0, `${refused.length} of 40 are refused`)
  for (const { headers, json } of refused) {
    t.match(headers.get('retry-after'), /^[1-9]\d?$/)
    t.match(json, {
      error: 'Too many events are waiting to be stored; nothing of this request was stored, repeat it later',
    })
  }
  const accepted = answers.flatMap(({ status }, n) => (status === 202 ? [String(n)] : []))
  t.ok(accepted.length > 0)
  t.equal(accepted.length + refused.length, 40)
  await small.untilStored('busy')
  t.same(
    await small.rows('SELECT n FROM busy ORDER BY n'),
    accepted.map((n) => [n]),
  )
  const larger = Array.from({ length: 10 }, (_, n) => event(100 + n)).join('\n')
  t.match(
    await small.events('busy', larger),
    { status: 202 },
    'a body larger than the limit is taken when nothing waits',
  )
})
