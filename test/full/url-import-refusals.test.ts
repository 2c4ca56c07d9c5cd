// What an import by URL is refused for, at once where that can be known, and that nothing tells what a URL keeps secret.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import {
  csvOf,
  jobIdOf,
  openUrlService,
  storedSumOf,
  sumOf,
  testRows,
  testSchema,
  untilEnded,
} from '../support/imports/url-imports.ts'
import { answerFile } from '../support/remote-server.ts'

const rows = testRows(100)

t.test('what can be known at once is answered at once, and makes no job', async (t) => {
  const { service, server, start } = await openUrlService(t)
  await service.create('a', testSchema)
  await service.call('POST', '/v0/pipes?name=pipe&sql=SELECT+1')
  await service.create('joined', testSchema, {
    engine: 'Join',
    engine_key_columns: 'id',
    engine_join_strictness: 'ANY',
    engine_join_type: 'LEFT',
  })
  const refused: readonly (readonly [Record<string, string>, status: number, error: RegExp])[] = [
    [{ name: 'b', url: 'not a url' }, 400, /^The URL cannot be used: /],
    [{ name: 'b', url: '/etc/passwd' }, 400, /^The URL cannot be used: it does not begin with https/],
    [{ name: 'b', url: 'file:///etc/passwd' }, 400, /^The URL cannot be used: its scheme is "file"/],
    [
      { name: 'b', url: 'http://10.0.0.1/rows.csv' },
      400,
      /^The URL http:\/\/10\.0\.0\.1\/rows\.csv is refused: its address is not public/,
    ],
    [{ name: 'b', url: 'https://u:p@example.com/' }, 400, /is refused: it has a user or a password/],
    [{ name: 'b', format: 'xml' }, 400, /xml/],
    [{ name: 'b', mode: 'upsert' }, 400, /mode/],
    [{ name: 'b', schema: 'id UInt' }, 400, /./],
    [{ name: 'b', schema: testSchema, engine: 'Log' }, 400, /Log/],
    [{ name: 'b', schema: testSchema, indexes: 'nonsense' }, 400, /index/i],
    [{ name: 'b', schema: testSchema, engine: 'MergeTree', engine_sorting_key: 'nothing' }, 400, /nothing/],
    [{ name: 'b', format: 'ndjson' }, 400, /"schema" is required/],
    [{ name: 'b', mode: 'append', format: 'parquet' }, 400, /"b" does not exist, and parameter "schema" is required/],
    [{ name: 'b-c' }, 400, /must begin with a letter/],
    [{ name: 'b_quarantine', mode: 'append' }, 400, /quarantine/],
    [{ name: 'pipe' }, 409, /"pipe"/],
    [{ name: 'b', mode: 'append', replace_condition: 'id = 1' }, 400, /replace_condition/],
    [{ name: 'b', mode: 'replace' }, 404, /"b" does not exist/],
    [{ name: 'a' }, 409, /There is already a Data Source with name "a"/],
    [{ name: 'joined', mode: 'append' }, 400, /Join/],
    [{ mode: 'append' }, 400, /name/],
  ]
  for (const [parameters, status, error] of refused) {
    const url = parameters['url'] === undefined ? ['/rows.csv'] : []
    const answer = await start(parameters, ...url)
    t.match(answer, { status, json: { error } }, JSON.stringify(parameters))
  }
  const url = encodeURIComponent(`${server.origin}/rows.csv`)
  const headers = { 'content-type': 'text/csv' }
  t.match(await service.call('POST', `/v0/datasources?name=b&url=${url}`, { body: csvOf(rows), headers }), {
    status: 400,
    json: { error: /there are rows beside the parameter "url"/ },
  })
  const form = new FormData()
  form.append('csv', new Blob([csvOf(rows)]), 'rows.csv')
  t.match(await service.call('POST', `/v0/datasources?name=b&url=${url}`, { body: form }), { status: 400 })
  const many = Array.from({ length: 101 }, () => '/rows.csv')
  t.match(await start({ name: 'b' }, ...many), {
    status: 400,
    json: { error: /there are 101 URLs; one import takes 100/ },
  })
  const long = `/${'x'.repeat(9_000)}`
  t.match(await start({ name: 'b' }, long), {
    status: 400,
    json: { error: /a URL has 90\d\d characters; it may have 8192/ },
  })
  const body = new URLSearchParams({ name: 'b' })
  for (let index = 0; index < 20; index += 1) body.append('url', `${server.origin}/${'x'.repeat(8_000)}`)
  const asForm = { 'content-type': 'application/x-www-form-urlencoded' }
  t.match(await service.call('POST', '/v0/datasources', { body: body.toString(), headers: asForm }), {
    status: 400,
    json: { error: /the URLs have 16\d{4} characters together; those of one import may have 131072/ },
  })
  t.match((await service.call('GET', '/v0/jobs')).json, { jobs: [], total: 0 })
  t.equal(server.requests.length, 0, 'no server was asked for anything')
})

t.test('a body without a length that has nothing in it is no rows beside a URL', async (t) => {
  const { service, server, files } = await openUrlService(t)
  files.set('/rows.csv', answerFile({ content: csvOf(rows) }))
  const url = encodeURIComponent(`${server.origin}/rows.csv`)
  const path = `/v0/datasources?name=empty&schema=${encodeURIComponent(testSchema)}&url=${url}`
  const client = await service.openRaw()
  t.teardown(() => client.socket.destroy())
  client.send(`${service.head('POST', path, 'Transfer-Encoding: chunked')}0\r\n\r\n`)
  const text = await client.until((told) => /\r\n\r\n.*\}$/s.test(told))
  t.match(text, /^HTTP\/1\.1 200 /)
  const id = /"job_id":"([^"]+)"/.exec(text)?.[1] ?? ''
  t.match(await untilEnded(service, id), { status: 'done' })
  t.equal(await service.count('empty'), 100)
})

t.test('as many imports wait as may', async (t) => {
  const { service, files, start } = await openUrlService(t, { urlImportsMax: 1, jobsWaitingMax: 1 })
  files.set('/never.csv', () => {})
  const first = jobIdOf(await start({ name: 'a' }, '/never.csv'))
  await service.log.until('A job has another status.', (fields) => fields['status'] === 'working')
  const second = jobIdOf(await start({ name: 'b' }, '/never.csv'))
  const third = await start({ name: 'c' }, '/never.csv')
  t.match(third, { status: 429, json: { error: /1 jobs? wait/ } })
  t.ok(third.headers.has('retry-after'))
  for (const id of [second, first]) await service.call('POST', `/v0/jobs/${id}/cancel`)
})

t.test('a token needs the right of its mode, and is told of the jobs that it made', async (t) => {
  const { service, server, files } = await openUrlService(t)
  files.set('/rows.csv', answerFile({ content: csvOf(rows) }))
  await service.create('a', testSchema)
  await service.create('other', testSchema)
  const tokenOf = async (name: string, scope: string) => {
    const { json } = await service.call('POST', `/v0/tokens?${new URLSearchParams({ name, scope })}`)
    return (json as { readonly token: string }).token
  }
  const appender = await tokenOf('appender', 'DATASOURCES:APPEND:a')
  const reader = await tokenOf('reader', 'DATASOURCES:READ:other')
  const url = `${server.origin}/rows.csv`
  const post = (token: string | null, parameters: Record<string, string>) =>
    service.call('POST', `/v0/datasources?${new URLSearchParams({ ...parameters, url })}`, { token })
  t.match(await post(null, { name: 'a', mode: 'append' }), { status: 403 })
  t.match(await post(reader, { name: 'a', mode: 'append' }), { status: 403 })
  t.match(await post(appender, { name: 'other', mode: 'append' }), { status: 403 })
  t.match(await post(appender, { name: 'new' }), { status: 403 })
  t.match(await post(appender, { name: 'a', mode: 'append', dry: 'true' }), { status: 403 })
  t.equal(server.requests.length, 0)
  const id = jobIdOf(await post(appender, { name: 'a', mode: 'append' }))
  await untilEnded(service, id)
  t.same(await storedSumOf(service, 'a'), sumOf(rows))
  t.match(await service.call('GET', `/v0/jobs/${id}`, { token: appender }), { status: 200, json: { status: 'done' } })
  for (const path of [`/v0/jobs/${id}`, `/v0/jobs/${id}?progress=true`]) {
    t.match(await service.call('GET', path, { token: reader }), { status: 403 }, path)
  }
  t.match(await service.call('POST', `/v0/jobs/${id}/cancel`, { token: reader }), { status: 403 })
})

t.test('neither an answer nor the log nor the data directory tells the secrets of a URL', async (t) => {
  const secrets = ['sig-5f1d0b', 'user-9c2e', 'pass-77aa', 'frag-31b0', 'sent-on-4d4d']
  const [signature, user, password, fragment, onward] = secrets
  const { service, server, files } = await openUrlService(t, {
    urlCredentials: true,
    logLevel: 'debug',
    urlAttemptsMax: 2,
  })
  files.set('/rows.csv', answerFile({ content: csvOf(rows) }))
  files.set(
    '/broken.csv',
    (_, response) => void response.writeHead(200, { 'content-length': 50_000 }).end('id,name\n1'),
  )
  files.set('/busy.csv', (_, response) => void response.writeHead(503).end())
  files.set(
    '/astray',
    (_, response) => void response.writeHead(302, { location: `http://10.0.0.1/?k=${onward}` }).end(),
  )
  files.set('/page', answerFile({ content: Buffer.from('<!DOCTYPE html>'), headers: { 'content-type': 'text/html' } }))
  const told: string[] = []
  const host = server.origin.replace('http://', `http://${user}:${password}@`)
  for (const [index, path] of ['rows.csv', 'broken.csv', 'busy.csv', 'astray', 'page', 'missing'].entries()) {
    const url = `${host}/${path}?X-Signature=${signature}#${fragment}`
    const body = new URLSearchParams({ name: `d${index}`, url })
    for (const dry of ['', 'true']) {
      const answer = await service.call('POST', `/v0/datasources?dry=${dry}`, {
        body: body.toString(),
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      })
      told.push(answer.text)
      if (dry !== '') continue
      const id = jobIdOf(answer)
      told.push((await service.call('GET', `/v0/jobs/${id}?progress=true`)).text)
      told.push((await service.call('GET', `/v0/jobs/${id}?debug=blocks,block_log`)).text)
    }
    // What is refused before a job is made, too.
    for (const refused of [
      `ftp://${user}:${password}@h/${signature}`,
      `http://${user}:${password}@10.0.0.1/?a=${signature}`,
      `http://h h/?a=${signature}`,
    ]) {
      told.push(
        (
          await service.call('POST', '/v0/datasources', {
            body: new URLSearchParams({ name: 'x', url: refused }).toString(),
            headers: { 'content-type': 'application/x-www-form-urlencoded' },
          })
        ).text,
      )
    }
  }
  told.push((await service.call('GET', '/v0/jobs')).text)
  t.same(await storedSumOf(service, 'd0'), sumOf(rows), 'the credentials and the query are sent')
  t.ok(server.requests.some(({ url, headers }) => url.includes(`${signature}`) && headers.authorization !== undefined))
  told.push(JSON.stringify(service.log.entries, (_, value: unknown) => (value instanceof Error ? allOf(value) : value)))
  const kept = readFileSync(join(service.dataDir, 'catalog.lmdb'))
  for (const secret of secrets) {
    t.notOk(kept.includes(secret), `${secret} on disk`)
    t.notOk(
      told.some((text) => text.includes(secret)),
      secret,
    )
  }
})

/** All that a log would write of an error. */
function allOf(error: Error): object {
  return {
    ...error,
    message: error.message,
    stack: error.stack,
    cause: error.cause instanceof Error ? allOf(error.cause) : error.cause,
  }
}
