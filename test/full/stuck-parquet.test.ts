// Pages that the engine waits for without end, and nobody has refused before: two reads of such files are told that they are
// late, and the engine is started again, which reads others then.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import t from 'tap'
import { openEmbeddedStore } from '../../src/store/embedded/embedded-store.ts'
import { checked } from '../support/checked-text.ts'
import { writeParquetFiles } from '../support/parquet-files.ts'
import { findEnginePid, untilEngine } from '../support/store/engine-pid.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from '../support/store/test-store.ts'

const settings = { compression_method: 'gzip', max_dictionary_size: 0 }
const fileOf = await writeParquetFiles({ rows: { sql: 'SELECT toString(number) AS n FROM numbers(1000)', settings } })
const directory = await createTestDirectory()
t.teardown(() => directory.remove())

t.test('files of which no read ends are told to be late, and others are read behind a restart', async (t) => {
  const store = await openEmbeddedStore(
    { ...testStoreOptions(join(directory.path, 'data')), insertTimeMaxMs: 1_000 },
    silentLogger,
  )
  t.teardown(() => store.close())
  const whole = fileOf('rows')
  const endless = Buffer.from(whole)
  // The unpacked size of the first page stands behind the magic and the type of the page.
  let at = 7
  while ((endless[at] ?? 0) >= 0x80) at += 1
  endless[at] = (endless[at] ?? 0) + 2
  const paths = { whole: join(directory.path, 'whole.parquet'), endless: join(directory.path, 'endless.parquet') }
  writeFileSync(paths.whole, whole)
  writeFileSync(paths.endless, endless)
  const sumOf = (path: string) =>
    store.parquet.firstRows(path, [{ name: 'n', typeText: 'String', value: checked('sum(toUInt32(n))') }], 1)
  t.same(await sumOf(paths.whole), [{ n: 499_500 }])
  const engine = findEnginePid(process.pid)
  for (let round = 0; round < 2; round += 1) {
    await t.rejects(sumOf(paths.endless), { clickhouseCode: 159, message: /^The file was not read within 1000 ms/ })
  }
  await untilEngine(process.pid, engine)
  t.same(await sumOf(paths.whole), [{ n: 499_500 }])
  t.equal(store.unreadyReason, null)
})
