// Receipts: queries that see what was just acknowledged, or say why not.

import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import type { Options } from '../../src/config.ts'
import { openService } from '../../src/service.ts'
import { errorOf } from '../support/api/pipe-service.ts'
import { type Answer, openTestService, TestLog, TestService, testOptions } from '../support/api/test-service.ts'
import { ViewCalls } from '../support/api/view-calls.ts'
import { jobIdOf, openUrlService } from '../support/imports/url-imports.ts'
import { answerFile } from '../support/remote-server.ts'
import { createTestDirectory } from '../support/store/test-store.ts'

interface Fresh {
  readonly newest_acknowledged_at: string | null
  readonly newest_queryable_at: string | null
}

const receiptForm = /^mr1\.[\w-]{8}\.[\w-]{44}$/
/** So late that nothing is stored unless somebody waits for it with `wait=true`. */
const never = { eventsFlushIdleMs: 60_000, eventsFlushAgeMs: 60_000 }

function receiptOf({ headers }: Answer): string {
  return headers.get('x-millrace-receipt') ?? ''
}

async function endpoint(service: TestService, name: string, sql: string): Promise<void> {
  const body = new URLSearchParams({ name, sql })
  const made = await service.call('POST', '/v0/pipes', { body: body.toString() })
  if (made.status !== 200) throw new Error(made.text)
  const published = await service.call('PUT', `/v0/pipes/${name}/endpoint`, { body: `${name}_0` })
  if (published.status !== 200) throw new Error(published.text)
}

/** The last number of an answer in any text format. */
const lastNumber = (text: string): number => Number(/(\d+)\D*$/.exec(text.trim())?.[1])

t.test('queries with receipts', async (t) => {
  const { service, files, start } = await openUrlService(t)

  await t.test('a query with the receipt of events sees them, wherever it says so', async (t) => {
    await service.create('orders', 'n UInt32')
    await endpoint(service, 'total', 'SELECT count() AS c FROM orders')
    let count = 0
    const send = async (): Promise<string> => {
      count += 1
      const body = JSON.stringify({ n: count })
      const packed = { headers: { 'content-encoding': 'gzip' } }
      const answer =
        count % 2 === 0
          ? await service.events('orders', gzipSync(body), {}, packed)
          : await service.events('orders', body)
      t.equal(answer.status, 202)
      t.match(receiptOf(answer), receiptForm)
      t.match(answer.headers.get('access-control-expose-headers'), /x-millrace-receipt/)
      return receiptOf(answer)
    }
    const sql = 'SELECT count() FROM orders FORMAT TSV'
    const form = (fields: Readonly<Record<string, string>>): string => new URLSearchParams(fields).toString()
    const ways: Readonly<Record<string, (receipt: string) => Promise<Answer>>> = {
      'a header of SQL': (receipt) =>
        service.call('POST', '/v0/sql', { body: sql, headers: { 'x-millrace-receipt': receipt } }),
      'a parameter of SQL': (receipt) => service.call('GET', `/v0/sql?${form({ q: sql, wait_until: receipt })}`),
      'a form of SQL': (receipt) => service.call('POST', '/v0/sql', { body: form({ q: sql, wait_until: receipt }) }),
      'JSON with SQL': (receipt) =>
        service.call('POST', '/v0/sql', { body: JSON.stringify({ q: sql, wait_until: receipt }) }),
      'a header of an endpoint': (receipt) =>
        service.call('GET', '/v0/pipes/total.csv', { headers: { 'X-Millrace-Receipt': receipt } }),
      'a query over an endpoint': (receipt) =>
        service.call('GET', `/v0/pipes/total.csv?${form({ q: 'SELECT c FROM _', wait_until: receipt })}`),
      'the older path of an endpoint': (receipt) =>
        service.call('GET', `/v0/pipe/total/data.csv?wait_until=${receipt}`),
      'JSON for an endpoint': (receipt) =>
        service.call('POST', '/v0/pipes/total.csv', { body: JSON.stringify({ wait_until: receipt }) }),
    }
    for (const [way, ask] of Object.entries(ways)) {
      const answer = await ask(await send())
      t.equal(answer.status, 200, `${way}: ${answer.text}`)
      t.equal(lastNumber(answer.text), count, way)
      t.equal(answer.headers.get('x-warning'), null, way)
    }
    for (const format of ['csv', 'ndjson', 'prometheus']) {
      const answer = await service.call('GET', `/v0/pipes/total.${format}?wait_until=${await send()}`)
      if (format === 'prometheus') t.ok([200, 400].includes(answer.status))
      else t.equal(lastNumber(answer.text), count, format)
    }
    for (const format of ['json', 'parquet']) {
      const answer = await service.call('GET', `/v0/pipes/total.${format}?wait_until=${await send()}`)
      t.equal(answer.status, 200, format)
      if (format === 'json') t.match(answer.json, { data: [{ c: count }] })
    }
  })

  await t.test('the receipts of several senders and data sources are waited for together', async (t) => {
    for (const name of ['one', 'two']) await service.create(name, 'n UInt32')
    await endpoint(service, 'both', 'SELECT (SELECT count() FROM one) + (SELECT count() FROM two) AS c')
    for (let count = 1; count <= 20; count += 1) {
      const answers = await Promise.all(['one', 'two'].map((name) => service.events(name, `{"n":${count}}`)))
      const [first = '', second = ''] = answers.map(receiptOf)
      const headers = { 'x-millrace-receipt': first }
      const path = count % 2 === 0 ? `both.csv?wait_until=${first},%20${second}` : `both.csv?wait_until=${second}`
      const answer = await service.call('GET', `/v0/pipes/${path}`, { headers })
      t.equal(lastNumber(answer.text), 2 * count, answer.text)
    }
  })

  await t.test('an answer that is kept is not taken for one with the rows', async (t) => {
    await service.create('kept', 'n UInt32')
    const sql = "% {{cache_ttl('1h')}} SELECT count() AS c FROM kept FORMAT TSV"
    const ask = (headers = {}): Promise<Answer> => service.call('POST', '/v0/sql', { body: sql, headers })
    t.equal((await ask()).text, '0\n')
    const receipt = receiptOf(await service.events('kept', '{"n":1}'))
    t.equal((await ask({ 'x-millrace-receipt': receipt })).text, '1\n')
    t.equal((await ask()).text, '0\n')
  })

  await t.test('an import answers with a receipt for all rows by then, of events too', async (t) => {
    const count = async (name: string, receipt: string): Promise<string> => {
      const call = { body: `SELECT count() FROM ${name} FORMAT TSV`, headers: { 'x-millrace-receipt': receipt } }
      return (await service.call('POST', '/v0/sql', call)).text
    }
    const body = '{"n":1}\n{"n":2}\n'
    const schema = new URLSearchParams({ name: 'imported', schema: 'n UInt32 `json:$.n`', format: 'ndjson' })
    const created = await service.call('POST', `/v0/datasources?${schema}`, { body })
    t.match([created.status, receiptOf(created)], [200, /^mr1\.[\w-]{8}\.[\w-]{66}$/], created.text)
    t.equal(await count('imported', receiptOf(created)), '2\n')
    await service.events('imported', '{"n":3}')
    const appended = await service.append('imported', 'ndjson', body)
    t.equal(await count('imported', receiptOf(appended)), '5\n')
    const replaced = await service.call('POST', '/v0/datasources?mode=replace&name=imported&format=ndjson', { body })
    t.equal(await count('imported', receiptOf(replaced)), '2\n')
    const empty = await service.create('empty', 'n UInt32')
    t.equal(await count('empty', receiptOf(empty)), '0\n')
  })

  await t.test('the receipt of an import by URL is for what it has stored at its end', async (t) => {
    await service.create('fetched', 'n UInt32')
    const waiting: (() => void)[] = []
    const rows = Buffer.from('{"n":1}\n{"n":2}\n')
    const file = answerFile({ content: rows })
    files.set('/rows.ndjson', (request, response) => void waiting.push(() => file(request, response)))
    const started = await start({ mode: 'append', name: 'fetched' }, '/rows.ndjson')
    t.match([started.status, receiptOf(started)], [200, /^mr1\.[\w-]{8}\.[\w-]{66}$/], started.text)
    const headers = { 'x-millrace-receipt': receiptOf(started) }
    const query = service.call('POST', '/v0/sql', { body: 'SELECT count() FROM fetched FORMAT TSV', headers })
    const freshness = service.call('GET', '/v0/datasources/fetched/freshness', { headers })
    const show = async () => (await service.call('GET', '/v0/datasources/fetched/freshness')).json
    const time = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}$/
    t.match(await show(), {
      ...{ newest_acknowledged_at: time, newest_queryable_at: null, lag_ms: Number },
      backlog: { rows: 0, bytes: 0, imports: 1, oldest_acknowledged_at: time },
    })
    const elsewhere = { body: 'SELECT 1', headers }
    t.equal(
      (await service.call('POST', '/v0/sql', elsewhere)).status,
      200,
      'it is not waited for where nobody reads it',
    )
    // The file is given out only now; whatever is asked of it later too.
    files.set('/rows.ndjson', file)
    for (const answer of waiting) answer()
    t.equal((await query).text, '2\n')
    const { status, json: fresh } = await freshness
    t.equal(status, 200)
    const { newest_acknowledged_at: acknowledgedAt, newest_queryable_at: queryableAt } = fresh as Fresh
    t.match(fresh, { newest_queryable_at: time, lag_ms: 0, backlog: { imports: 0, oldest_acknowledged_at: null } })
    t.equal(acknowledgedAt, queryableAt)
  })

  await t.test('what is no receipt of this service is refused', async (t) => {
    for (const name of ['own', 'other']) await service.create(name, 'n UInt32')
    const receipt = receiptOf(await service.events('own', '{"n":1}'))
    const ask = (text: string): Promise<Answer> =>
      service.call('POST', '/v0/sql', { body: 'SELECT 1', headers: { 'x-millrace-receipt': text } })
    const cut = receipt.slice(0, -1)
    const changed = `${receipt.slice(0, 20)}${receipt[20] === 'A' ? 'B' : 'A'}${receipt.slice(21)}`
    const foreign = receipt.replace(/^mr1\.[^.]{8}/, 'mr1.AAAAAAAA')
    const whole = /it is not a receipt, or not the whole of one/
    for (const [text, reason] of [
      ['x', whole],
      ['2026-01-01', whole],
      [cut, whole],
      [`${receipt};${receipt}`, whole],
      [changed, /it was not given by this service/],
      [foreign, /it was not given by this service/],
    ] as const) {
      const refused = await ask(text)
      t.equal(refused.status, 400, text)
      t.match(errorOf(refused), reason, text)
    }
    const list = (count: number): string => Array.from({ length: count }, () => receipt).join(',')
    t.equal((await ask(list(31))).status, 200)
    t.equal((await ask(list(32))).status, 200)
    const tooMany = await ask(list(33))
    t.match([tooMany.status, errorOf(tooMany)], [400, /more than 32 of them/])
    t.equal((await ask(' , ')).status, 200, 'nothing is sent')
    const endpointLess = await service.call('GET', '/v0/sql?q=SELECT%201&wait_until=')
    t.equal(endpointLess.status, 200)
    const elsewhere = await service.call('GET', `/v0/datasources/other/freshness?wait_until=${receipt}`)
    t.match([elsewhere.status, errorOf(elsewhere)], [400, /it is of another Data Source/])
  })

  await t.test('receipts of rows that are gone are answered at once', async (t) => {
    await service.create('gone', 'n UInt32')
    await service.create('there', 'n UInt32')
    const events = async (): Promise<{ readonly 'x-millrace-receipt': string }> => ({
      'x-millrace-receipt': receiptOf(await service.events('gone', '{"n":1}')),
    })
    const truncated = await events()
    t.equal((await service.call('POST', '/v0/datasources/gone/truncate')).status, 205)
    const count = { body: 'SELECT count() FROM gone FORMAT TSV' }
    t.equal((await service.call('POST', '/v0/sql', { ...count, headers: truncated })).text, '0\n')
    const replaced = await events()
    const body = '{"n":1}\n{"n":2}'
    const replace = await service.call('POST', '/v0/datasources?mode=replace&name=gone&format=ndjson', { body })
    t.equal(replace.status, 200, replace.text)
    t.equal((await service.call('POST', '/v0/sql', { ...count, headers: replaced })).text, '2\n')
    const dropped = await events()
    t.equal((await service.call('DELETE', '/v0/datasources/gone')).status, 204)
    const other = { body: 'SELECT count() FROM there FORMAT TSV', headers: dropped }
    t.equal((await service.call('POST', '/v0/sql', other)).text, '0\n')
    await service.create('gone', 'n UInt32')
    t.equal((await service.call('POST', '/v0/sql', { ...count, headers: dropped })).text, '0\n')
  })

  await t.test('what views make of the rows is seen too, or the view is told that lacks them', async (t) => {
    const views = new ViewCalls(service)
    await service.create('ev', 'id UInt32, n UInt32')
    await service.create('mended', 'n UInt32')
    await views.fill('sound', 'SELECT id, n FROM ev', { datasource: 'sound_rows' })
    const fails = 'n >= 13 AND (SELECT count() FROM mended) = 0'
    const risky = `SELECT id, n + throwIf(${fails}, 'unlucky') AS n FROM ev`
    await views.fill('risky', risky, { datasource: 'risky_rows' })
    const count = (table: string, receipt: string, token?: string): Promise<Answer> => {
      const call = { body: `SELECT count() FROM ${table} FORMAT TSV`, headers: { 'x-millrace-receipt': receipt } }
      return service.call('POST', '/v0/sql', token === undefined ? call : { ...call, token })
    }
    const before = receiptOf(await service.events('ev', '{"id":1,"n":1}'))
    for (const table of ['ev', 'sound_rows', 'risky_rows']) t.equal((await count(table, before)).text, '1\n', table)

    const parked = receiptOf(await service.events('ev', '{"id":2,"n":13}'))
    for (const table of ['ev', 'sound_rows']) t.equal((await count(table, parked)).text, '2\n', table)
    const refused = await count('risky_rows', parked)
    t.equal(refused.status, 408)
    t.match(errorOf(refused), /as Materialized View 'risky\.risky_view' lacks some: it failed, and the rows wait/)
    t.equal((await count('risky_rows', before)).text, '1\n', 'it has what came before')
    const imported = await service.append('ev', 'ndjson', '{"id":3,"n":1}\n')
    t.equal((await count('ev', receiptOf(imported))).text, '3\n')
    t.match([(await count('risky_rows', receiptOf(imported))).status], [408])
    await t.test('but not to whoever may not know of it', async (t) => {
      const made = await service.call('POST', '/v0/tokens?name=reader&scope=DATASOURCES:READ:risky_rows')
      const { token } = made.json as { readonly token: string }
      const told = await count('risky_rows', parked, token)
      t.match([told.status, errorOf(told)], [408, /as a Materialized View lacks some/])
      t.notMatch(told.text, /risky_view/)
    })

    await service.events('mended', '{"n":1}', { wait: 'true' })
    await service.call('POST', '/v0/pipes/risky/nodes/risky_view/catch_up')
    t.equal((await count('risky_rows', parked)).text, '3\n')
    t.equal((await count('risky_rows', receiptOf(imported))).text, '3\n')
  })
})

t.test('more readers wait for one import than requests may follow jobs', async (t) => {
  const { service, files, start } = await openUrlService(t, {
    ...{ receiptWaitMaxMs: 300_000, receiptWaitsMax: 5_000, connectionsMax: 2_000, connectionsPerAddressMax: 2_000 },
  })
  await service.create('fetched', 'n UInt32')
  const waiting: (() => void)[] = []
  const file = answerFile({ content: Buffer.from('{"n":1}\n{"n":2}\n') })
  files.set('/rows.ndjson', (request, response) => void waiting.push(() => file(request, response)))
  const started = await start({ mode: 'append', name: 'fetched' }, '/rows.ndjson')
  const receipt = receiptOf(started)
  const readers = Array.from({ length: 1_020 }, () =>
    service.call('GET', `/v0/datasources/fetched/freshness?wait_until=${receipt}`),
  )
  const query = service.call('POST', '/v0/sql', {
    body: 'SELECT count() FROM fetched FORMAT TSV',
    headers: { 'x-millrace-receipt': receipt },
  })
  t.equal(await service.sql('SELECT 1 FORMAT TSV'), '1\n')
  // Those who follow jobs find their places all the same.
  const followed = service.call('GET', `/v0/jobs/${jobIdOf(started)}?progress=true`)
  files.set('/rows.ndjson', file)
  for (const answer of waiting) answer()
  const answers = await Promise.all(readers)
  t.same([...new Set(answers.map(({ status, text }) => (status === 200 ? '' : `${status} ${text}`)))], [''])
  t.equal((await query).text, '2\n')
  t.equal((await followed).status, 200)
})

t.test('queries whose rows come too late', async (t) => {
  const service = await openTestService(t, { ...never, receiptWaitMaxMs: 50 })

  await t.test('where the rows are not stored in time, the answer is 408, and the query did not run', async (t) => {
    for (const name of ['late', 'other']) await service.create(name, 'n UInt32')
    const receipt = receiptOf(await service.events('late', '{"n":1}'))
    const headers = { 'x-millrace-receipt': receipt }
    const refused = await service.call('POST', '/v0/sql', { body: 'SELECT count() FROM late', headers })
    t.equal(refused.status, 408)
    t.equal(
      errorOf(refused),
      'The query does not see all rows of the receipt: its rows could not be queried within 0.05 seconds',
    )
    t.equal(refused.headers.get('retry-after'), '1')
    const elsewhere = await service.call('POST', '/v0/sql', { body: 'SELECT count() FROM other FORMAT TSV', headers })
    t.equal(elsewhere.text, '0\n', 'a query that does not read it does not wait for it')
    const own = await service.call('GET', `/v0/datasources/late/freshness?wait_until=${receipt}`)
    t.equal(own.status, 408)
    t.equal((await service.events('late', '{"n":2}', { wait: 'true' })).status, 200)
    const answered = await service.call('POST', '/v0/sql', { body: 'SELECT count() FROM late FORMAT TSV', headers })
    t.equal(answered.text, '2\n')
  })

  await t.test('freshness tells how far queries see what was acknowledged', async (t) => {
    await service.create('fresh', 'n UInt32')
    const show = async () => (await service.call('GET', '/v0/datasources/fresh/freshness')).json
    const id = await service.idOf('fresh')
    const datasource = { id, name: 'fresh' }
    const empty = { rows: 0, bytes: 0, imports: 0, oldest_acknowledged_at: null }
    t.strictSame(await show(), {
      datasource,
      newest_acknowledged_at: null,
      newest_queryable_at: null,
      lag_ms: 0,
      backlog: empty,
      views_behind: [],
      lacks_rows_of: [],
    })
    await service.events('fresh', '{"n":1}\n{"n":2}')
    const time = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}$/
    const waiting = await show()
    t.match(waiting, {
      newest_acknowledged_at: time,
      newest_queryable_at: null,
      backlog: { rows: 2, oldest_acknowledged_at: time },
    })
    const { lag_ms: lagMs, newest_acknowledged_at: acknowledgedAt } = waiting as {
      readonly lag_ms: number
      readonly newest_acknowledged_at: string
    }
    t.ok(lagMs >= 0 && lagMs < 240_000)
    await service.events('fresh', '{"n":3}', { wait: 'true' })
    const stored = (await show()) as { readonly newest_queryable_at: string; readonly newest_acknowledged_at: string }
    t.match(stored, { lag_ms: 0, backlog: empty })
    t.equal(stored.newest_queryable_at, stored.newest_acknowledged_at)
    t.ok(stored.newest_acknowledged_at >= acknowledgedAt)
    t.equal((await service.call('GET', '/v0/datasources/nothing/freshness')).status, 404)
  })

  await t.test('freshness knows imports at their end, also beside events that wait', async (t) => {
    await service.create('filled', 'n UInt32')
    const show = async () => (await service.call('GET', '/v0/datasources/filled/freshness')).json as Fresh
    const nothing = { newest_acknowledged_at: null, newest_queryable_at: null }
    await service.append('filled', 'ndjson', '')
    t.match(await show(), nothing, 'it brought nothing')
    await service.append('filled', 'ndjson', '{"n":1}')
    const imported = await show()
    t.type(imported.newest_queryable_at, 'string')
    t.equal(imported.newest_acknowledged_at, imported.newest_queryable_at)
    t.match(imported, { lag_ms: 0, backlog: { rows: 0, imports: 0, oldest_acknowledged_at: null } })
    await service.events('filled', '{"n":2}')
    const waiting = await show()
    t.equal(waiting.newest_queryable_at, imported.newest_queryable_at, 'queries see the import, and not the event')
    t.ok(`${waiting.newest_acknowledged_at}` >= `${imported.newest_acknowledged_at}`)
    t.match(waiting, { backlog: { rows: 1, imports: 0 } })
    await service.append('filled', 'ndjson', '{"n":"no number"}')
    const setAside = await show()
    t.ok(`${setAside.newest_queryable_at}` >= `${waiting.newest_acknowledged_at}`, 'rows set aside are there too')
    t.match(setAside, { backlog: { rows: 1 } })
  })
})

t.test('as many queries wait at once as may with one token', async (t) => {
  const service = await openTestService(t, { ...never, receiptWaitsMax: 8, receiptWaitMaxMs: 120_000 })
  await service.create('late', 'n UInt32')
  const headers = { 'x-millrace-receipt': receiptOf(await service.events('late', '{"n":1}')) }
  const query = { body: 'SELECT count() FROM late FORMAT TSV', headers }
  const answers: Answer[] = []
  const ask = async (): Promise<void> => {
    answers.push(await service.call('POST', '/v0/sql', query))
  }
  const waiting = new Set(Array.from({ length: 4 }, ask))
  // Whoever finds both places of its token taken is answered while they wait.
  while (answers.length < 2) await Promise.race([...waiting].map((one) => one.then(() => waiting.delete(one))))
  t.same(
    answers.map(({ status }) => status),
    [503, 503],
  )
  t.equal(
    errorOf(answers[0] as Answer),
    'Too many queries with this token wait for the rows of their receipts, 2 may at once; repeat the request later',
  )
  await service.events('late', '{"n":2}', { wait: 'true' })
  await Promise.all(waiting)
  t.same(answers.map(({ status, text }) => [status, status === 200 ? text : '']).slice(2), [
    [200, '2\n'],
    [200, '2\n'],
  ])
})

async function reopened(t: Test, options: Partial<Options>[]): Promise<() => Promise<TestService>> {
  const directory = await createTestDirectory()
  const closing: (() => Promise<void>)[] = []
  t.teardown(async () => {
    for (const close of closing) await close()
    await directory.remove()
  })
  return async () => {
    for (const close of closing.splice(0)) await close()
    const log = new TestLog()
    const service = await openService(testOptions({ dataDir: directory.path, ...options.shift() }), log)
    closing.push(service.close)
    return new TestService(service, { log, dataDir: directory.path })
  }
}

t.test('a receipt outlives a restart', async (t) => {
  const open = await reopened(t, [{ ...never, closeTimeoutMs: 1_000 }, {}])
  const first = await open()
  await first.create('orders', 'n UInt32')
  const receipt = receiptOf(await first.events('orders', '{"n":1}'))
  const headers = { 'x-millrace-receipt': receipt }
  const count = { body: 'SELECT count() FROM orders FORMAT TSV', headers }
  const second = await open()
  t.equal((await second.call('POST', '/v0/sql', count)).text, '1\n')
  const own = receiptOf(await second.events('orders', '{"n":2}'))
  t.not(own.split('.')[1], receipt.split('.')[1], 'it names its process')
  const both = { ...count, headers: { 'x-millrace-receipt': `${receipt}, ${own}` } }
  t.equal((await second.call('POST', '/v0/sql', both)).text, '2\n')
})
