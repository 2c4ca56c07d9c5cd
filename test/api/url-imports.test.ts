// Imports of files by their URLs, to their end, each with exact counts and checksums.

import zlib from 'node:zlib'
import t from 'tap'
import { SharedService } from '../support/api/shared-service.ts'
import {
  csvOf,
  jobIdOf,
  jobOf,
  ndjsonOf,
  openUrlService,
  progressOf,
  storedSumOf,
  sumOf,
  testJsonSchema,
  testRows,
  testSchema,
  type UrlJob,
  untilEnded,
  urlOptions,
} from '../support/imports/url-imports.ts'
import { writeParquetFiles } from '../support/parquet-files.ts'
import { answerFile } from '../support/remote-server.ts'
import { packedMember, zipEnd } from '../support/zip-archive.ts'

const shared = new SharedService(t, urlOptions)
const rows = testRows(3_000)
const csv = csvOf(rows)
const ndjson = ndjsonOf(rows)

function zipOf(name: string, content: Buffer): Buffer {
  const member = packedMember(name, content)
  const central = Buffer.alloc(46)
  central.writeUInt32LE(0x02014b50, 0)
  central.writeUInt16LE(8, 8)
  central.writeUInt16LE(8, 10)
  central.writeUInt32LE(zlib.crc32(content), 16)
  central.writeUInt32LE(zlib.deflateRawSync(content).length, 20)
  central.writeUInt32LE(content.length, 24)
  central.writeUInt16LE(Buffer.byteLength(name), 28)
  const end = Buffer.from(zipEnd)
  end.writeUInt16LE(1, 8)
  end.writeUInt16LE(1, 10)
  end.writeUInt32LE(central.length + Buffer.byteLength(name), 12)
  end.writeUInt32LE(member.length, 16)
  return Buffer.concat([member, central, Buffer.from(name), end])
}

t.test('each format and each packing is stored exactly, and all of it is accounted for', async (t) => {
  const parquet = (
    await writeParquetFiles({
      rows: {
        sql: "SELECT number AS id, concat('n', toString(number * 7919)) AS name FROM numbers(5000)",
        settings: { row_group_size: 1000 },
      },
    })
  )('rows')
  const parquetRows = Array.from({ length: 5_000 }, (_, id) => ({ id, name: `n${id * 7919}` }))
  const { service, files, run } = await openUrlService(t, {}, await shared.take())
  // A frame of zstd whose block is stored as it is: Node 20 has no zstd.
  const cases: readonly (readonly [
    path: string,
    content: Buffer,
    more?: { contentEncoding?: string; type?: string },
  ])[] = [
    ['/rows.csv', csv],
    ['/rows.csv.gz', zlib.gzipSync(csv)],
    ['/rows.csv.zst', zstdOf(csv)],
    ['/rows.csv.zip', zipOf('rows.csv', csv)],
    ['/encoded.csv', zlib.gzipSync(csv), { contentEncoding: 'gzip' }],
    ['/encoded-zstd.csv', zstdOf(csv), { contentEncoding: 'zstd' }],
    ['/rows.ndjson', ndjson],
    ['/rows.ndjson.gz', zlib.gzipSync(ndjson)],
    ['/rows.jsonl.zst', zstdOf(ndjson)],
    ['/rows.ndjson.zip', zipOf('rows.ndjson', ndjson)],
    ['/key-by-type', ndjson, { type: 'application/x-ndjson' }],
    ['/key-by-bytes', zlib.gzipSync(ndjson)],
    ['/encoded.ndjson', zlib.gzipSync(ndjson), { contentEncoding: 'gzip' }],
  ]
  for (const [path, content, { contentEncoding, type } = {}] of cases) {
    const name = path.replaceAll(/\W/g, '_')
    files.set(
      path,
      answerFile({
        content,
        ...(contentEncoding === undefined ? {} : { contentEncoding }),
        ...(type === undefined ? {} : { headers: { 'content-type': type } }),
      }),
    )
    await service.create(name, testJsonSchema)
    const job = await run({ name, mode: 'append' }, path)
    t.same(await storedSumOf(service, name), sumOf(rows), path)
    t.match(
      job,
      {
        status: 'done',
        bytes_read: content.length,
        bytes_total: content.length,
        rows_read: rows.length,
        imported_rows: rows.length,
        quarantine_rows: 0,
        invalid_lines: 0,
        progress_percentage: 100,
        remaining_seconds: 0,
        statistics: { row_count: rows.length },
        datasource: { name },
      },
      path,
    )
  }
  for (const [path, content] of [
    ['/rows.parquet', parquet],
    ['/rows.parquet.gz', zlib.gzipSync(parquet)],
    ['/parquet-key', parquet],
  ] as const) {
    const name = path.replaceAll(/\W/g, '_')
    files.set(path, answerFile({ content }))
    const job = await run({ name, schema: testJsonSchema }, path)
    t.same(await storedSumOf(service, name), sumOf(parquetRows), path)
    t.match(job, { status: 'done', bytes_read: content.length, rows_read: 5_000, imported_rows: 5_000 }, path)
  }
})

/** Node 20 has no zstd, whose format has blocks that are stored as they are. */
function zstdOf(content: Buffer): Buffer {
  const head = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0, 0, 0, 0])
  head.writeUInt32LE(content.length, 5)
  const blocks: Buffer[] = []
  for (let start = 0; start < content.length; start += 0x10000) {
    const block = content.subarray(start, start + 0x10000)
    const isLast = start + block.length === content.length
    const header = Buffer.alloc(3)
    header.writeUIntLE(block.length * 8 + (isLast ? 1 : 0), 0, 3)
    blocks.push(header, block)
  }
  return Buffer.concat([head, ...blocks])
}

t.test('the answer has the id under each of its names, and job_url works as it stands', async (t) => {
  const { service, files, server, start } = await openUrlService(t, {}, await shared.take())
  files.set('/rows.csv', answerFile({ content: csv }))
  const answer = await start({ name: 'a' }, '/rows.csv')
  const { id, job_id, import_id, job_url, job, status } = answer.json as Record<string, string>
  t.equal(answer.status, 200)
  t.ok(id === job_id && id === import_id)
  t.match(status, /waiting|working/)
  t.match(job, { id, job_id: id, kind: 'import', import_id: id })
  t.equal(job_url, `${service.address}/v0/jobs/${id}`)
  await untilEnded(service, jobIdOf(answer))
  const followed = await fetch(job_url ?? '', { headers: { authorization: 'Bearer p.test.token' } })
  t.match(await followed.json(), { id, status: 'done', urls: [`${server.origin}/rows.csv`] })
})

t.test('creates with a schema, by a guess, and without a name; a dry run only tells', async (t) => {
  const { service, server, files, run } = await openUrlService(t, {}, await shared.take())
  files.set('/rows.csv', answerFile({ content: csv }))
  files.set('/rows.ndjson', answerFile({ content: ndjson }))
  const dry = await service.call(
    'POST',
    `/v0/datasources?dry=true&url=${encodeURIComponent(`${server.origin}/rows.csv`)}`,
  )
  const dryBody = await service.call('POST', '/v0/datasources?dry=true', {
    body: csv,
    headers: { 'content-type': 'text/csv' },
  })
  t.same(dry.json, dryBody.json, 'as of a body')
  t.same(((await service.call('GET', '/v0/datasources')).json as { datasources: unknown[] }).datasources, [])

  t.match(await run({ name: 'said', schema: testSchema, engine: 'MergeTree' }, '/rows.csv'), { status: 'done' })
  t.match(await run({ name: 'guessed' }, '/rows.csv'), { status: 'done', datasource: { name: 'guessed' } })
  const unnamed = await run({}, '/rows.csv')
  t.match(unnamed, { status: 'done', datasource: { id: String, name: String } })
  for (const name of ['said', 'guessed', unnamed.datasource?.name ?? '']) {
    t.same(await storedSumOf(service, name), sumOf(rows), name)
  }
  const unsaid = await run({ name: 'no_schema' }, '/rows.ndjson')
  t.match(unsaid, { status: 'error', error: /schema/, errors: [/schema/] })
  t.equal((await service.call('GET', '/v0/datasources/no_schema')).status, 404)
})

t.test('appends to what is there and creates what is not, if the token may', async (t) => {
  const { service, server, files, run } = await openUrlService(t, {}, await shared.take())
  files.set('/rows.csv', answerFile({ content: csv }))
  files.set('/more.csv', answerFile({ content: csvOf(testRows(500, 3_000)) }))
  t.match(await run({ name: 'a', mode: 'append' }, '/rows.csv'), { status: 'done', imported_rows: 3_000 })
  t.match(await run({ name: 'a', mode: 'append' }, '/more.csv'), { status: 'done', imported_rows: 500 })
  t.same(await storedSumOf(service, 'a'), sumOf(testRows(3_500)))

  const made = await service.call('POST', '/v0/tokens?name=appender&scope=DATASOURCES:APPEND:a')
  const { token } = made.json as { token: string }
  const append = (name: string) =>
    service.call(
      'POST',
      `/v0/datasources?mode=append&name=${name}&url=${encodeURIComponent(`${server.origin}/rows.csv`)}`,
      {
        token,
      },
    )
  t.match(await untilEnded(service, jobIdOf(await append('a'))), { status: 'done' })
  t.match((await append('missing')).status, 403)
  t.equal((await service.call('GET', '/v0/datasources/missing')).status, 404)
})

t.test('replaces the whole, and a part by a condition', async (t) => {
  const { service, files, run } = await openUrlService(t, {}, await shared.take())
  files.set('/rows.csv', answerFile({ content: csv }))
  files.set('/new.csv', answerFile({ content: csvOf(testRows(400, 100)) }))
  const engine = { engine: 'MergeTree', engine_sorting_key: 'id', engine_partition_key: 'intDiv(id, 1000)' }
  await service.create('a', testSchema, engine)
  t.match(await run({ name: 'a', mode: 'replace' }, '/rows.csv'), {
    status: 'done',
    imported_rows: 3_000,
    rows_read: 3_000,
  })
  t.same(await storedSumOf(service, 'a'), sumOf(rows))
  t.match(await run({ name: 'a', mode: 'replace', replace_condition: 'intDiv(id, 1000) = 0' }, '/new.csv'), {
    status: 'done',
    imported_rows: 400,
    rows_read: 400,
  })
  t.same(await storedSumOf(service, 'a'), sumOf([...testRows(400, 100), ...testRows(2_000, 1_000)]))
  t.match(await run({ name: 'a', mode: 'replace', replace_condition: 'intDiv(id, 1000) = 1' }, '/rows.csv'), {
    status: 'done',
    imported_rows: 1_000,
    rows_read: 3_000,
  })
  t.same(await storedSumOf(service, 'a'), sumOf([...testRows(400, 100), ...testRows(2_000, 1_000)]))
  t.match(await run({ name: 'a', mode: 'replace' }, '/new.csv'), { status: 'done', imported_rows: 400 })
  t.same(await storedSumOf(service, 'a'), sumOf(testRows(400, 100)))
})

t.test('several URLs are one import, however they are sent', async (t) => {
  const { service, server, files, run } = await openUrlService(t, {}, await shared.take())
  const parts = [0, 1, 2].map((index) => testRows(1_000, index * 1_000))
  for (const [index, part] of parts.entries()) files.set(`/${index}.csv`, answerFile({ content: csvOf(part) }))
  files.set('/2.ndjson', answerFile({ content: ndjsonOf(parts[2] ?? []) }))
  const byteCount = parts.reduce((total, part) => total + csvOf(part).length, 0)
  const whole = { status: 'done', rows_read: 3_000, imported_rows: 3_000, invalid_lines: 0, bytes_read: byteCount }

  t.match(await run({ name: 'query' }, '/0.csv', '/1.csv', '/2.csv'), whole)
  const urls = [0, 1, 2].map((index) => `url=${encodeURIComponent(`${server.origin}/${index}.csv`)}`).join('&')
  const form = await service.call('POST', '/v0/datasources', {
    body: `name=form&${urls}`,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  })
  t.match(await untilEnded(service, jobIdOf(form)), whole)
  const json = await service.call('POST', '/v0/datasources', {
    body: JSON.stringify({ name: 'json', url: [0, 1, 2].map((index) => `${server.origin}/${index}.csv`) }),
    headers: { 'content-type': 'application/json' },
  })
  t.match(await untilEnded(service, jobIdOf(json)), whole)
  const multipart = new FormData()
  multipart.append('name', 'multipart')
  for (const index of [0, 1, 2]) multipart.append('url', `${server.origin}/${index}.csv`)
  t.match(await untilEnded(service, jobIdOf(await service.call('POST', '/v0/datasources', { body: multipart }))), whole)
  await service.create('mixed', testJsonSchema)
  t.match(await run({ name: 'mixed', mode: 'append' }, '/0.csv', '/1.csv', '/2.ndjson'), { status: 'done' })
  for (const name of ['query', 'form', 'json', 'multipart', 'mixed']) {
    t.same(await storedSumOf(service, name), sumOf(rows), name)
  }
  t.match(await run({ name: 'cut' }, '/0.csv', '/missing.csv', '/2.csv'), {
    status: 'error',
    error: /answered 404 for http:.*\/missing\.csv/,
    imported_rows: 1_000,
    rows_read: 1_000,
  })
  t.same(await storedSumOf(service, 'cut'), sumOf(parts[0] ?? []), 'what was stored before it stays')
})

t.test('bad rows are set aside under the id of the job, and told with all counts', async (t) => {
  const { service, files, run } = await openUrlService(t, {}, await shared.take())
  const content = Buffer.from('id,name\n1,a\nx,b\n3\n4,"d"e\n5,f\n')
  files.set('/bad.csv', answerFile({ content }))
  await service.create('a', testSchema)
  const body = await service.call('POST', '/v0/datasources?name=a&mode=append&format=csv', { body: content })
  const counts = body.json as Record<string, number>
  const job = await run({ name: 'a', mode: 'append' }, '/bad.csv')
  t.match(job, { status: 'done', imported_rows: counts['imported_rows'] ?? -1 })
  t.match(job, { quarantine_rows: counts['quarantine_rows'] ?? -1, invalid_lines: counts['invalid_lines'] ?? -1 })
  t.equal(job.rows_read, 5)
  const [[setAside] = []] = await service.rows(`SELECT count() FROM a_quarantine WHERE c__import_id = '${job.id}'`)
  t.equal(Number(setAside), 3)
  await service.log.until(
    'All rows that an import by URL read are accounted for.',
    (fields) => fields['job'] === job.id,
  )
})

t.test('a job tells its progress, its blocks and their log', async (t) => {
  const { service, files, start } = await openUrlService(t, { frameBytes: 65_536, urlPieceBytes: 65_536 })
  const many = testRows(40_000)
  const content = csvOf(many)
  files.set('/rows.csv', answerFile({ content, writeBytes: 16_384 }))
  const id = jobIdOf(await start({ name: 'a', schema: testSchema }, '/rows.csv'))
  const lines = await progressOf(service, id)
  const shares = lines.map((line) => line.progress_percentage ?? 0)
  t.same(
    shares,
    [...shares].sort((one, other) => one - other),
    'it only grows',
  )
  const read = lines.map((line) => line.bytes_read ?? 0)
  t.same(
    read,
    [...read].sort((one, other) => one - other),
  )
  t.match(lines.at(-1), { status: 'done', progress_percentage: 100, bytes_read: content.length })
  t.same(await storedSumOf(service, 'a'), sumOf(many))
  const job = await jobOf(service, id, 'blocks,block_log')
  t.ok((job.blocks?.length ?? 0) > 5, `${job.blocks?.length} blocks`)
  t.match(job.blocks?.[0], { block_id: String, process_return: [{ lines: Number, parser: String }] })
  t.match(job.block_log?.at(-1), { status: /done/ })
})

t.test('what a job of several files has read only grows', async (t) => {
  const { service, files, start } = await openUrlService(t, { frameBytes: 65_536, insertRowsMax: 1_000 })
  const parts = [0, 1, 2, 3].map((index) => testRows(4_000, index * 4_000))
  for (const [index, part] of parts.entries()) {
    files.set(`/${index}.csv`, answerFile({ content: csvOf(part), writeBytes: 2_000, hasLength: index !== 2 }))
  }
  const id = jobIdOf(await start({ name: 'a', schema: testSchema }, '/0.csv', '/1.csv', '/2.csv', '/3.csv'))
  const told: UrlJob[] = []
  while (told.at(-1)?.status !== 'done') told.push(await jobOf(service, id))
  for (const field of ['bytes_read', 'rows_read', 'imported_rows', 'progress_percentage'] as const) {
    const values = told.map((job) => job[field] ?? 0)
    t.same(
      values,
      [...values].sort((one, other) => one - other),
      field,
    )
  }
  const byteCount = parts.reduce((total, part) => total + csvOf(part).length, 0)
  t.match(told.at(-1), { bytes_read: byteCount, rows_read: 16_000, progress_percentage: 100, bytes_total: null })
  t.same(await storedSumOf(service, 'a'), sumOf(testRows(16_000)))
})
