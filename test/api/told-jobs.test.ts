import t from 'tap'
import { endedJob, jobIdOf } from '../support/api/job-calls.ts'
import { openTokenService } from '../support/api/token-service.ts'
import { urlOptions } from '../support/imports/url-imports.ts'
import { openRemoteServer } from '../support/remote-server.ts'

const columns = 'id UInt32 `json:$.id`, k UInt8 `json:$.k`, s String `json:$.s`'

t.test('a job that fails on rows tells their values to whoever may read them all', async (t) => {
  const { service, admin, valueWith, as } = await openTokenService(t, urlOptions)
  const made = new URLSearchParams({
    name: 'rows',
    schema: columns,
    engine_partition_key: 'k',
    engine_sorting_key: 'id',
  })
  t.equal((await admin('POST', `/v0/datasources?${made}`)).status, 200)
  await admin('POST', '/v0/events?name=rows&wait=true', '{"id":1,"k":1,"s":"STOREDCANARY"}')
  const server = await openRemoteServer(t, (_request, response) => response.end('{"id":5,"k":1,"s":"0"}\n'))
  const replace = { mode: 'replace', name: 'rows', format: 'ndjson', url: `${server.origin}/rows.ndjson` }
  const query = new URLSearchParams({ ...replace, replace_condition: 'k = 1 AND toUInt8(s) = 0' })
  const creator = await valueWith('creator', 'DATASOURCES:CREATE:rows')
  const others = {
    appender: await valueWith('appender', 'DATASOURCES:APPEND:rows'),
    creator: await valueWith('another creator', 'DATASOURCES:CREATE:rows'),
  }
  const reader = await valueWith('reader', 'DATASOURCES:READ:rows')
  const filtered = await valueWith('filtered', 'DATASOURCES:APPEND:rows', 'DATASOURCES:READ:rows:k = 2')
  const stranger = await valueWith('stranger', 'DATASOURCES:READ:ev')
  for (const maker of [admin, as(creator)]) {
    const id = jobIdOf(await maker('POST', `/v0/datasources?${query}`))
    t.match(await endedJob(service, id, { token: creator }), { status: 'error' })
    for (const path of [`/v0/jobs/${id}`, `/v0/jobs/${id}?progress=true`, `/v0/jobs/${id}?debug=blocks,block_log`]) {
      for (const token of [creator, ...Object.values(others)]) {
        const { status, text } = await as(token)('GET', path)
        t.equal(status, 200)
        t.match(text, /it fails on rows that the token may not read/)
        t.notMatch(text, /CANARY|parse string/)
      }
      for (const caller of [admin, as(reader)]) t.match((await caller('GET', path)).text, /STOREDCANARY/)
      for (const token of [filtered, stranger]) {
        const { status, text } = await as(token)('GET', path)
        t.equal(status, 403)
        t.notMatch(text, /CANARY|rows/)
      }
    }
    const list = (await as(others.appender)('GET', '/v0/jobs')).text
    t.match(list, id)
    t.notMatch(list, /CANARY/)
  }
})

t.test('a job that fails on rows of its file tells them to its maker, and to whoever may read all', async (t) => {
  const { service, admin, valueWith, as } = await openTokenService(t, urlOptions)
  const schema = `${columns}, w UInt8 DEFAULT toUInt8(s)`
  t.equal((await admin('POST', `/v0/datasources?${new URLSearchParams({ name: 'rows', schema })}`)).status, 200)
  const bad = Array.from({ length: 20_000 }, (_, id) => `{"id":${id},"k":1,"s":"SENTCANARY${id}"}\n`).join('')
  const server = await openRemoteServer(t, (_request, response) => response.end(bad))
  const query = new URLSearchParams({
    mode: 'append',
    name: 'rows',
    format: 'ndjson',
    url: `${server.origin}/rows.ndjson`,
  })
  const maker = await valueWith('maker', 'DATASOURCES:APPEND:rows')
  const other = await valueWith('other', 'DATASOURCES:APPEND:rows')
  const reader = await valueWith('reader', 'DATASOURCES:READ:rows')
  const id = jobIdOf(await as(maker)('POST', `/v0/datasources?${query}`))
  const ended = await endedJob(service, id, { token: maker })
  t.match(ended, { status: 'error', error: /SENTCANARY/ })
  const told = await as(other)('GET', `/v0/jobs/${id}`)
  t.match(told, { status: 200, json: { error: /a token that may read all rows of the Data Source is told why/ } })
  t.notMatch(told.text, /CANARY/)
  for (const caller of [as(reader), admin]) t.match((await caller('GET', `/v0/jobs/${id}`)).text, /SENTCANARY/)
})

t.test('a delete that fails tells nothing of rows to whoever deletes and does not read', async (t) => {
  const { service, admin, valueWith, as } = await openTokenService(t)
  t.equal(
    (await admin('POST', `/v0/datasources?${new URLSearchParams({ name: 'rows', schema: columns })}`)).status,
    200,
  )
  await admin('POST', '/v0/events?name=rows&wait=true', '{"id":1,"k":1,"s":"STOREDCANARY"}')
  const creator = await valueWith('creator', 'DATASOURCES:CREATE:rows')
  const reader = await valueWith('reader', 'DATASOURCES:READ:rows', 'DATASOURCES:CREATE:rows')
  const body = new URLSearchParams({ delete_condition: 'toUInt8(s) = 0' }).toString()
  const id = jobIdOf(await as(creator)('POST', '/v0/datasources/rows/delete', body))
  const masked = await endedJob(service, id, { token: creator })
  t.match(masked, { status: 'error', error: 'The job failed on rows that the token may not read' })
  t.notMatch(JSON.stringify(masked), /CANARY|parse string/)
  for (const caller of [admin, as(reader)]) t.match((await caller('GET', `/v0/jobs/${id}`)).text, /STOREDCANARY/)
})
