// The hostile queries against the whole service: nothing of what lies outside the workspace is told, written or asked for.

import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { openTestService } from '../support/api/test-service.ts'
import { hostileQueries } from '../support/sql/hostile-queries.ts'
import { createTestDirectory } from '../support/store/test-store.ts'

const directory = await createTestDirectory()
t.teardown(() => directory.remove())
const outside = join(directory.path, 'outside')
await mkdir(outside)
await writeFile(join(outside, 'canary.txt'), 'SECRET_FILE\n')
let requestCount = 0
const server = createServer((socket) => {
  requestCount += 1
  socket.destroy()
})
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
t.teardown(() => server.close())
// A server that listens on a port has an address with one.
const { port } = server.address() as { readonly port: number }

const service = await openTestService(t, { queryTimeMaxMs: 3_000 })
for (const name of ['ev', 'rep', 'other', 'j']) {
  const engine: Record<string, string> =
    name === 'rep' ? { engine: 'ReplacingMergeTree', engine_sorting_key: 'id' } : {}
  await service.create(name, 'id UInt32, tenant String, secret String', engine)
  await service.append(name, 'csv', 'id,tenant,secret\n1,a,mine\n2,b,yours\n')
}

/** Answers to these tell what the engine, the machine or another workspace has. */
const canaries = ['SECRET_FILE', 'root:x:', 'r_admin', 'r_reader', directory.path]

t.test('what is to be stopped before the engine answers 400 with the reason', async (t) => {
  const absent = /\b(?:priv|loopa|pipe1|_|ev_quarantine)\b/
  for (const [about, queries] of Object.entries(hostileQueries)) {
    for (const [sql, message] of queries) {
      // The admin token has no filter and may read all, and there are no pipes; those are for the tests of the modules.
      if (message?.includes('filter') || absent.test(sql)) continue
      const placed = sql
        .replaceAll('127.0.0.1:9', `127.0.0.1:${port}`)
        .replaceAll('/tmp/canary.txt', join(outside, 'canary.txt'))
        .replaceAll('/tmp/hout', join(outside, 'hout'))
      const { status, text } = await service.call('POST', '/v0/sql', { body: placed })
      const found = canaries.find((canary) => text.includes(canary) && !placed.includes(canary))
      t.equal(found, undefined, `${about}: ${sql}: ${text.slice(0, 200)}`)
      if (message !== null) t.equal(status, 400, `${sql}: ${text.slice(0, 200)}`)
      else t.ok([200, 400, 408].includes(status), `${sql}: ${status} ${text.slice(0, 200)}`)
    }
  }
  t.same(await readdir(outside), ['canary.txt'], 'no file was written')
  t.equal(requestCount, 0, 'nothing was asked for outside')
  t.equal(await service.count('ev'), 2, 'and the rows are still there')
})

t.test('a range has a hundred million elements at most, over all rows of a block', async (t) => {
  for (const sql of [
    'SELECT arrayJoin(range(100000001))',
    'SELECT sum(length(range(200000 + number))) FROM numbers(1000)',
  ]) {
    const { status, text } = await service.call('POST', '/v0/sql', { body: sql })
    t.equal(status, 400, sql)
    t.match(text, 'elements')
  }
  t.equal(await service.sql('SELECT length(range(10000000)) FORMAT TSV'), '10000000\n')
  t.equal(
    (await service.call('POST', '/v0/sql', { body: 'SELECT 1 SETTINGS function_range_max_elements_in_block = 1' }))
      .status,
    400,
  )
})
