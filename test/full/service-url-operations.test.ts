import t from 'tap'
import { untilRows, writingRows } from '../support/api/service-rows.ts'
import {
  csvOf,
  heldFile,
  jobIdOf,
  openUrlService,
  reopen,
  testRows,
  testSchema,
  until,
  untilEnded,
} from '../support/imports/url-imports.ts'
import { answerFile } from '../support/remote-server.ts'

const csv = csvOf(testRows(40_000))
const small = { ...writingRows, frameBytes: 65_536, insertRowsMax: 2_000 }
const columns = 'event_type, datasource_name, result, rows, error'

t.test('an import by URL is told once, at the end of its job, whatever it ends by', async (t) => {
  const { service, files, start, run } = await openUrlService(t, small)
  files.set('/rows.csv', answerFile({ content: csv }))
  files.set('/held.csv', heldFile(csv, 900_000, { isOpen: false }))
  await service.create('there', testSchema)
  const operationOf = async (id: string) =>
    await untilRows(
      service,
      `SELECT ${columns} FROM tinybird.datasources_ops_log WHERE import_id = '${id}' AND job_id = '${id}'`,
    )

  const missing = await run({ name: 'new', mode: 'create', format: 'csv' }, '/missing.csv')
  t.equal(missing.status, 'error')
  const [absent = []] = await operationOf(missing.id)
  t.strictSame(absent.slice(0, 4), ['append', 'new', 'error', '0'])
  t.match(absent[4], /404/)
  const replaced = await run({ name: 'there', mode: 'replace' }, '/missing.csv')
  t.match(await operationOf(replaced.id), [['replace', 'there', 'error', '0', /404/]])
  const done = await run({ name: 'there', mode: 'append' }, '/rows.csv')
  t.strictSame(await operationOf(done.id), [['append', 'there', 'ok', '40000', '']])
  const held = jobIdOf(await start({ name: 'there', mode: 'append' }, '/held.csv'))
  await until(service, held, ({ imported_rows: rows = 0 }) => rows > 0)
  await service.call('POST', `/v0/jobs/${held}/cancel`)
  const { imported_rows: stored } = await untilEnded(service, held)
  t.strictSame(await operationOf(held), [['append', 'there', 'error', String(stored), 'The job was cancelled.']])
  t.equal(Number(stored) > 0, true)
})

t.test('one that goes on behind a stop of the service is told once, with all of its rows', async (t) => {
  const opened = await openUrlService(t, small)
  const gate = { isOpen: false }
  opened.files.set('/rows.csv', heldFile(csv, 900_000, gate))
  await opened.service.create('there', testSchema)
  const id = jobIdOf(await opened.start({ name: 'there', mode: 'append' }, '/rows.csv'))
  await until(opened.service, id, ({ imported_rows: rows = 0 }) => rows > 0)
  const again = await reopen(t, opened, small)
  gate.isOpen = true
  t.match(await untilEnded(again, id), { status: 'done' })
  const told = `SELECT ${columns} FROM tinybird.datasources_ops_log WHERE job_id = '${id}'`
  t.strictSame(await untilRows(again, told), [['append', 'there', 'ok', '40000', '']])
})
