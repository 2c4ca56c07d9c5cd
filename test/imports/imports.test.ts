import { Readable } from 'node:stream'
import t from 'tap'
import type { BlockStatusEntry, ImportSource } from '../../src/imports/imports.types.ts'
import { SourceBody } from '../../src/imports/source-body.ts'
import { errors } from '../../src/shared/errors/errors.ts'
import { createFakeDeps, type FakeDeps } from '../support/http/fake-deps.ts'
import { bodyOf, cutBodies, orderOf, requestOf, sourceOf } from '../support/imports/import-requests.ts'

const schema = 'id UInt32 `json:$.id`, tag Nullable(String)'

function createNamed({ dataSources }: FakeDeps, name: string) {
  return dataSources.create({ name, description: '', schema, engine: null, type: 'ndjson' })
}

/** A body of which the first bytes come, and then nothing more. */
function unfinishedBody(text: string): { readonly body: SourceBody; readonly stream: Readable } {
  const stream = new Readable({ read() {} })
  stream.push(text)
  return { body: new SourceBody(stream), stream }
}

t.test('rows without a schema are guessed, wherever they are cut, and their data source is created', async (t) => {
  const text = 'id,tag\n1,a\n2,b\n'
  for (const body of cutBodies(Buffer.from(text))) {
    const fake = createFakeDeps()
    const opened = await fake.imports.open(requestOf({ mode: 'create' }, sourceOf(body)))
    t.match(opened, { isCreated: true, dataSource: { name: 'a' }, shadowed: undefined })
    t.match(fake.created, [{ name: 'a', schema: '`id` Int32, `tag` String', type: 'csv', isImplicit: false }])
    t.equal(fake.loads.length, 0, 'nothing is loaded before it is asked for')
    t.match(await opened.load(), { outcome: { storedRows: 3, failure: null }, warnings: [] })
    await opened.close()
    t.match(fake.loads, [{ text, request: { format: 'csv', csv: { header: 'present', delimiter: ',' } } }])
  }
})

t.test('an order without rows creates, and one that says nothing is refused', async (t) => {
  const fake = createFakeDeps()
  const opened = await fake.imports.open(requestOf({ mode: 'create', schema }, null))
  t.same(await opened.load(), { outcome: null, warnings: [] })
  t.match(fake.created, [{ name: 'a', schema, type: 'ndjson' }])
  await t.rejects(fake.imports.open(requestOf({ mode: 'create', name: 'b' }, null)), { code: 'BODY_MISSING' })
  await t.rejects(fake.imports.open(requestOf({ mode: 'create', schema }, null)), { code: 'DATASOURCE_EXISTS' })
})

t.test('an append brings the body as it is, and creates what is missing', async (t) => {
  const fake = createFakeDeps()
  await createNamed(fake, 'a')
  const opened = await fake.imports.open(requestOf({}, sourceOf(bodyOf('{"id":', '1}\n'))))
  t.equal(opened.isCreated, false)
  t.match(await opened.load(), { outcome: { storedRows: 1 } })
  t.match(fake.loads, [{ text: '{"id":1}\n', request: { format: 'ndjson', importId: opened.importId } }])
  const logged = fake.entries.find(({ message }) => message === 'An import ended.')
  t.match(logged?.fields, { jobId: 'j1', importId: opened.importId, dataSource: 'a', storedRows: 1 })
  await opened.close()
  const created = await fake.imports.open(requestOf({ name: 'b', schema }, sourceOf(bodyOf('{"id":1}\n'))))
  t.equal(created.isCreated, true)
  t.match(fake.created[1], { name: 'b', isImplicit: true })
})

t.test('an append takes a data source that somebody else created meanwhile', async (t) => {
  const fake = createFakeDeps()
  const { dataSources } = fake
  const { create } = dataSources
  dataSources.create = async (request) => {
    dataSources.create = create
    await createNamed(fake, 'a')
    throw errors.DATASOURCE_EXISTS({ name: request.name ?? '' })
  }
  const opened = await fake.imports.open(requestOf({}, sourceOf(bodyOf('other,tag\n1,a\n'))))
  t.match(opened, { isCreated: false, dataSource: { name: 'a' } })
  await opened.load()
  t.match(fake.loads, [{ request: { csv: { header: 'unknown' } } }], 'its columns need not be those of the rows')
})

t.test(
  'an append that would create is refused to a caller who may not, before anything is read or created',
  async (t) => {
    const fake = createFakeDeps()
    const { body, stream } = unfinishedBody('')
    const caller = {
      logFields: {},
      requireTarget() {},
      requireCreation() {
        throw errors.TOKEN_INVALID()
      },
    }
    await t.rejects(fake.imports.open(requestOf({}, sourceOf(body), { caller })), { code: 'TOKEN_INVALID' })
    t.notOk(stream.readableDidRead)
    t.equal(fake.created.length, 0)
    await createNamed(fake, 'a')
    const opened = await fake.imports.open(requestOf({}, sourceOf(bodyOf('{"id":1}\n')), { caller }))
    t.equal(opened.isCreated, false)
  },
)

t.test('NDJSON for nothing is refused with the schema that it would need', async (t) => {
  const fake = createFakeDeps()
  const stream = Readable.from([Buffer.from('{"id":1,"tag":"a"}\n')], { objectMode: false })
  const refused = fake.imports.open(requestOf({}, sourceOf(new SourceBody(stream))))
  await t.rejects(refused, { code: 'SCHEMA_MISSING', hint: /json:\$\.id/ })
  t.ok(stream.destroyed, 'nobody reads it any more')
  t.equal(fake.created.length, 0)
})

t.test('a replace fills tables of its own, and tells of rows that go with the old content', async (t) => {
  const fake = createFakeDeps()
  const dataSource = await createNamed(fake, 'a')
  const replaced = await fake.imports.open(requestOf({ mode: 'replace' }, sourceOf(bodyOf('{"id":1}\n'))))
  const appended = await fake.imports.open(requestOf({}, sourceOf(bodyOf('{"id":2}\n{"id":3}\n'))))
  t.match((await appended.load()).warnings, [/^A replace of Data Source "a" is on its way/])
  t.match((await replaced.load()).warnings, [/^2 rows were acknowledged for Data Source "a"/])
  t.match(
    fake.loads.map(({ request }) => request.tables),
    [undefined, { landing: 'staging' }],
  )
  await replaced.close()
  t.same(fake.pendingReplaces.note(dataSource, 1, 'import'), [], 'it is no longer on its way')
  await t.rejects(fake.imports.open(requestOf({ mode: 'replace' }, null)), { code: 'BODY_MISSING' })
})

t.test('a replace that is never loaded is no longer on its way once it is closed', async (t) => {
  const fake = createFakeDeps()
  const dataSource = await createNamed(fake, 'a')
  const opened = await fake.imports.open(requestOf({ mode: 'replace' }, sourceOf(bodyOf('{"id":1}\n'))))
  t.equal(fake.pendingReplaces.note(dataSource, 1, 'events').length, 1)
  await opened.close()
  t.equal(fake.pendingReplaces.note(dataSource, 1, 'events').length, 0)
  const refused = fake.imports.open(requestOf({ mode: 'replace' }, sourceOf(bodyOf('%PDF-1.7\n'))))
  await t.rejects(refused, { code: 'FILE_UNSUPPORTED' })
  t.equal(fake.pendingReplaces.note(dataSource, 1, 'events').length, 0)
})

t.test(
  'an import that is refused as a whole takes the data source that it created with it, and no other',
  async (t) => {
    const fake = createFakeDeps()
    await createNamed(fake, 'there')
    fake.ingest.importBody = async () => {
      throw errors.SHUTTING_DOWN()
    }
    for (const name of ['a', 'there']) {
      const opened = await fake.imports.open(requestOf({ name }, sourceOf(bodyOf('id,tag\n1,a\n'))))
      t.ok(fake.dataSources.find(name))
      await t.rejects(opened.load(), { code: 'SHUTTING_DOWN' })
      t.equal(fake.dataSources.find(name) === undefined, name === 'a', name)
      await opened.close()
    }
  },
)

t.test('what is wrong behind the rows is the failure of an import whose rows are counted', async (t) => {
  const fake = createFakeDeps()
  await createNamed(fake, 'a')
  const end: ImportSource['end'] = async () => {
    throw errors.PARAMETER_LATE({ parameter: 'mode' })
  }
  const opened = await fake.imports.open(requestOf({}, sourceOf(bodyOf('{"id":1}\n'), { end })))
  t.match(await opened.load(), { outcome: { storedRows: 1, failure: { code: 'PARAMETER_LATE' } } })
  t.ok(fake.entries.some(({ level, message }) => level === 'warn' && message === 'An import ended early.'))
})

t.test('a dry run and an analysis tell what would be created, and create nothing', async (t) => {
  const fake = createFakeDeps()
  const { signal } = new AbortController()
  const { imports } = fake
  const csv = await imports.analyze({
    ...orderOf(),
    source: sourceOf(bodyOf('id;tag\r\n1;a\r\n')),
    unknownFormat: 'as imported',
    signal,
  })
  t.match(csv, { guess: { schema: '`id` Int32, `tag` String', csv: { delimiter: ';', hasHeader: true } } })
  t.same(csv.dialect, { newLine: '\r\n', encoding: 'utf-8' })
  const ndjson = { ...orderOf(), source: sourceOf(bodyOf('{"id":1}\n')), unknownFormat: 'guessed', signal } as const
  t.match(await imports.analyze(ndjson), { guess: { columns: [{ path: '$.id' }], csv: null }, byteCount: 9 })
  const broken = { ...orderOf(), source: sourceOf(bodyOf('')), unknownFormat: 'guessed', signal } as const
  await t.rejects(imports.analyze(broken), { code: 'SAMPLE_EMPTY' })
  t.same([fake.created, fake.loads], [[], []])
})

t.test(
  'an import ends when it is stopped; when nobody waits for it, only where its bytes may unpack for long',
  async (t) => {
    const cases = [
      ['gzip', 'abandoned', true],
      [undefined, 'abandoned', false],
      [undefined, 'stopped', true],
    ] as const
    for (const [contentEncoding, way, isEnded] of cases) {
      const fake = createFakeDeps()
      await createNamed(fake, 'a')
      const stopping = new AbortController()
      const leaving = new AbortController()
      const request = requestOf({}, sourceOf(bodyOf('{"id":1}\n'), { contentEncoding, format: 'ndjson' }), {
        signal: stopping.signal,
        abandoned: leaving.signal,
      })
      const opened = await fake.imports.open(request)
      if (way === 'stopped') stopping.abort(errors.IMPORT_STOPPED())
      else leaving.abort(errors.CLIENT_LEFT())
      await opened.load()
      const signal = fake.loads[0]?.request.signal
      t.equal(signal?.aborted, isEnded, `${contentEncoding} ${way}`)
      if (isEnded) t.equal(signal?.reason, way === 'stopped' ? stopping.signal.reason : leaving.signal.reason)
    }
  },
)

t.test('blocks are told as they come, to whoever listens', async (t) => {
  const fake = createFakeDeps()
  await createNamed(fake, 'a')
  const report = {
    parser: 'ndjson',
    lines: 1,
    quarantinedRows: 0,
    invalidLines: 0,
    emptyLines: 0,
    byteCount: 9,
    timeMs: 1,
  } as const
  fake.ingest.importBody = async ({ watcher }) => {
    watcher?.onStatus(0, 'processing')
    watcher?.onParsed(0, report)
    watcher?.onStatus(0, 'done')
    return { storedRows: 1, quarantinedRows: 0, invalidLines: 0, shortLines: 0, failure: null }
  }
  for (const watched of ['reports', 'statuses', 'nothing'] as const) {
    const opened = await fake.imports.open(requestOf({}, sourceOf(bodyOf('{"id":1}\n')), { watched }))
    const told: BlockStatusEntry[] = []
    opened.progress.listen((entry) => told.push(entry))
    await opened.load()
    const { statuses, reports } = opened.progress
    t.same(told, statuses)
    const expected = watched === 'nothing' ? [] : ['processing', 'done']
    t.same(
      statuses.map(({ status }) => status),
      expected,
    )
    t.same(reports, watched === 'reports' ? [{ blockId: statuses[0]?.blockId, report }] : [])
  }
  const guessed = await fake.imports.open(requestOf({ name: 'b' }, sourceOf(bodyOf('1,a\n')), { watched: 'statuses' }))
  t.match(guessed.progress.statuses, [{ status: 'guessing' }])
})

t.test('a service that closes ends the imports that have a place, and takes no more', async (t) => {
  const { imports } = createFakeDeps()
  const reasons: string[] = []
  const leave = imports.enter(({ code }) => reasons.push(`first ${code}`), 'a')
  imports.enter(({ code }) => reasons.push(`second ${code}`), 'a')
  leave()
  imports.close()
  t.same(reasons, ['second IMPORT_STOPPED'])
  t.throws(() => imports.enter(() => {}, 'a'), { code: 'SHUTTING_DOWN' })
})

t.test('closing an import closes its body, though nobody read it to its end', async (t) => {
  const fake = createFakeDeps()
  await createNamed(fake, 'a')
  const { body, stream } = unfinishedBody('{"id":1}\n'.repeat(10_000))
  const opened = await fake.imports.open(requestOf({}, sourceOf(body)))
  await opened.close()
  t.ok(stream.destroyed)
})
