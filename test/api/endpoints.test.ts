import t from 'tap'
import { openPipeService } from '../support/api/pipe-service.ts'

interface Result {
  readonly data: readonly unknown[]
}

t.test('an endpoint from its first node to its end', async (t) => {
  const room = await openPipeService(t)
  const { call, service } = room
  await service.append('events', 'csv', 'day,user,n\n2026-01-01,a,1\n2026-01-02,b,2\n2026-01-02,a,3\n')
  const data = async (path: string) => {
    const { status, json } = await call('GET', path)
    // The shape is that of every answer in JSON.
    return status === 200 ? (json as Result).data : status
  }

  const chosen = '% SELECT * FROM events WHERE day >= {{Date(since, 2026-01-01)}}'.replace('2026-01-01', "'2026-01-01'")
  const { nodes, id } = await room.create(
    'sums',
    chosen,
    'SELECT user, sum(n) AS n FROM n0 GROUP BY user ORDER BY user',
  )
  t.match(await call('GET', '/v0/pipes/sums.json'), { status: 404, json: { error: /does not have an endpoint yet/ } })
  t.equal((await call('POST', `/v0/pipes/sums/nodes/${nodes[1]?.id}/endpoint`)).status, 200)
  const all = [
    { user: 'a', n: 4 },
    { user: 'b', n: 2 },
  ]
  t.strictSame(await data('/v0/pipes/sums.json'), all)
  t.strictSame(await data(`/v0/pipes/${id}.json?since=2026-01-02`), [
    { user: 'a', n: 3 },
    { user: 'b', n: 2 },
  ])
  t.match(await call('GET', '/v0/pipes/sums.json?since=x'), {
    status: 400,
    json: { error: /Error validating 'x' to type Date/ },
  })

  const long = JSON.stringify({ unused: 'x'.repeat(4_194_305) })
  t.match(await call('POST', '/v0/pipes/sums.json', { body: long }), {
    status: 400,
    json: { error: /a value holds more than 4194304 characters/ },
  })

  // Another pipe, and a query, read it by its name; a parameter is for all of them.
  const over = await room.create('over', 'SELECT sum(n) AS n FROM sums')
  await call('POST', `/v0/pipes/over/nodes/${over.nodes[0]?.id}/endpoint`)
  t.strictSame(await data('/v0/pipes/over.json?since=2026-01-02'), [{ n: 5 }])
  t.equal(await service.sql('SELECT n FROM over FORMAT TSV'), '6\n')
  t.match(await call('GET', '/v0/pipes/over/explain'), {
    status: 200,
    json: { debug_query: /^SELECT sum\(n\) AS n FROM \(SELECT user, /, query_explain: /ReadFromMergeTree \(events\)/ },
  })

  // Every change shows with the next request.
  await service.append('events', 'csv', 'day,user,n\n2026-01-03,c,9\n')
  t.strictSame(await data('/v0/pipes/over.json'), [{ n: 15 }])
  t.equal(
    (await call('PUT', `/v0/pipes/sums/nodes/${nodes[1]?.id}`, { body: "SELECT 'all' AS user, sum(n) AS n FROM n0" }))
      .status,
    200,
  )
  t.strictSame(await data('/v0/pipes/sums.json'), [{ user: 'all', n: 15 }])
  t.equal((await call('DELETE', `/v0/pipes/sums/nodes/${nodes[1]?.id}/endpoint`)).status, 200)
  t.equal(await data('/v0/pipes/sums.json'), 404)
  t.equal((await call('DELETE', '/v0/pipes/over')).status, 204)
  t.match(await call('GET', '/v0/pipes/over.json'), { status: 404, json: { error: "The pipe 'over' does not exist" } })
})

t.test('requests side by side each get their own answer', async (t) => {
  const room = await openPipeService(t, { readSessions: 3 })
  const { nodes } = await room.create(
    'echo',
    "% SELECT {{Int32(n)}} AS n FROM numbers(100) {% if n == '7' %} WHERE throwIf(number >= 50) = 0 {% end %}",
    '% SELECT n, count() AS c, {{String(tag)}} AS tag FROM n0 GROUP BY n',
  )
  await room.call('POST', `/v0/pipes/echo/nodes/${nodes[1]?.id}/endpoint`)
  const answers = await Promise.all(
    Array.from({ length: 60 }, async (_, index) => {
      const n = index % 10
      const { status, text } = await room.call('GET', `/v0/pipes/echo.ndjson?n=${n}&tag=${index}`)
      const isRight = n === 7 ? status === 400 : text === `{"n":${n},"c":100,"tag":"${index}"}\n`
      return isRight ? 'right' : `${index}: ${status} ${text}`
    }),
  )
  t.strictSame(new Set(answers), new Set(['right']))
})

t.test('a client that takes nothing of its answer is given up, and one that reads gets all of it', async (t) => {
  const { service } = await openPipeService(t, { connectionIdleMsMax: 200 })
  const query = "SELECT repeat('x', 1000) FROM numbers(30000) FORMAT TSV"
  const idle = await service.openRaw()
  t.teardown(() => idle.socket.destroy())
  idle.socket.pause()
  idle.send(service.head('GET', `/v0/sql?q=${encodeURIComponent(query)}`))
  t.equal((await service.sql(query)).length, 30_030_000)
  await service.log.until('A client that does not read its answer is disconnected.')
  idle.socket.resume()
  await idle.end()
  t.ok(idle.text.length < 30_030_000)
})

t.test('a form of very many names keeps nobody waiting', async (t) => {
  const { service } = await openPipeService(t)
  const form = Array.from({ length: 300_000 }, (_, index) => `p${index}=`).join('&')
  const asked = service.call('POST', '/v0/sql', { body: `q=SELECT 1 FORMAT TSV&${form}`, token: null })
  t.match(await asked, { status: 403 })
  t.equal(await service.sql('SELECT 1 FORMAT TSV'), '1\n')
  const members = Object.fromEntries(Array.from({ length: 300_000 }, (_, index) => [`k${index}`, 1]))
  const refused = await service.call('POST', '/v0/sql', { body: JSON.stringify(members) })
  t.match(refused, { status: 400, text: /The body has more than 10000 fields/ })
})
