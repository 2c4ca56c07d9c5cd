import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import t, { type Test } from 'tap'
import { openTestService } from '../support/api/test-service.ts'
import { writeParquetFiles } from '../support/parquet-files.ts'
import { createTestDirectory } from '../support/store/test-store.ts'

const directory = await createTestDirectory()
t.teardown(() => directory.remove())
const fileOf = await writeParquetFiles({ rows: { sql: 'SELECT toUInt32(number) AS n FROM numbers(3)' } })

/** Puts a program in the place of the system's `sync`, which notes each call and ends as it is told. */
function replaceSync(t: Test): { calls(): number; fail(message: string): void } {
  const folder = join(directory.path, 'bin')
  const [notes, failure] = [join(folder, 'calls'), join(folder, 'failure')]
  mkdirSync(folder, { recursive: true })
  for (const path of [notes, failure]) writeFileSync(path, '')
  const script = `#!/bin/sh\necho called >> ${notes}\nif [ -s ${failure} ]; then cat ${failure} >&2; exit 1; fi\n`
  writeFileSync(join(folder, 'sync'), script)
  chmodSync(join(folder, 'sync'), 0o755)
  const { PATH } = process.env
  process.env['PATH'] = `${folder}:${PATH}`
  t.teardown(() => {
    process.env['PATH'] = PATH
  })
  return {
    calls: () => readFileSync(notes, 'utf8').split('\n').length - 1,
    fail: (message) => writeFileSync(failure, message),
  }
}

const bodies = {
  csv: '1\n2\n3\n',
  ndjson: '{"n":1}\n{"n":2}\n{"n":3}\n',
  parquet: fileOf('rows'),
}

t.test('what an import has stored is synced before it is acknowledged, whatever its format', async (t) => {
  const sync = replaceSync(t)
  const service = await openTestService(t)
  const send = (format: string, body: Buffer | string) =>
    service.call('POST', `/v0/datasources?name=a&mode=append&format=${format}`, { body })
  await service.create('a', 'n UInt32 `json:$.n`')
  for (const [format, body] of Object.entries(bodies)) {
    const before = sync.calls()
    t.match(await send(format, body), { status: 200, json: { error: false, imported_rows: 3 } }, format)
    t.ok(sync.calls() > before, `${format}: ${sync.calls() - before} syncs`)
  }
  sync.fail("sync: error syncing '/x': Input/output error")
  for (const [format, body] of Object.entries(bodies)) {
    t.match(await send(format, body), {
      status: 500,
      json: {
        error: /the disk cannot be read or written\. Rows known to be stored: 3, in quarantine: 0\./,
        documentation: 'docs/errors.md#disk_failed',
        imported_rows: 3,
      },
    })
  }
  t.match(
    await send('csv', 'x\n'),
    { status: 500, json: { quarantine_rows: 1, imported_rows: 0 } },
    'the quarantine too',
  )
  t.match(
    await send('ndjson', '\n'),
    { status: 200, json: { imported_rows: 0 } },
    'nothing is stored that could be lost',
  )
  sync.fail('')
  t.match(await send('csv', bodies.csv), { status: 200, json: { imported_rows: 3 } })
})
