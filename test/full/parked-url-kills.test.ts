// Imports by URL that are killed while a view is parked: they go on with the blocks that were named before the view was.

import { join } from 'node:path'
import t from 'tap'
import { freePort } from '../support/free-port.ts'
import type { UrlJob } from '../support/imports/url-imports.ts'
import { KillService } from '../support/kill/kill-service.ts'
import { answerFile, openRemoteServer } from '../support/remote-server.ts'
import { createTestDirectory } from '../support/store/test-store.ts'

const rowCount = 40_000
const ndjson = Buffer.from(Array.from({ length: rowCount }, (_, id) => `{"id":${id},"n":1}\n`).join(''))
/** Many small blocks. */
const small = { MILLRACE_FRAME_BYTES: '32768', MILLRACE_INSERT_ROWS_MAX: '2000', MILLRACE_URL_PIECE_BYTES: '65536' }
/** Keeps each block's INSERT busy behind its data source, so that a kill comes into some. */
const slowly = "arrayCount(x -> SHA512(toString(x + id)) = '', range(100))"

interface ShownSource {
  readonly views_behind?: readonly { readonly view: string; readonly state: string }[]
}

t.test('a job goes on behind a kill also where a view was parked in its middle', async (t) => {
  const directory = await createTestDirectory()
  const server = await openRemoteServer(t, answerFile({ content: ndjson }))
  const allowed = { MILLRACE_URL_ALLOW: '127.0.0.1', MILLRACE_URL_ALLOW_HTTP: 'true' }
  const service = new KillService(join(directory.path, 'store'), await freePort(), { ...allowed, ...small })
  t.teardown(async () => {
    await service.end('SIGKILL')
    await directory.remove()
  })
  await service.start()
  const fill = async (pipe: string, sql: string): Promise<void> => {
    await service.call('POST', '/v0/pipes', JSON.stringify({ name: pipe, nodes: [{ name: 'n', sql }] }))
    await service.call('POST', `/v0/pipes/${pipe}/nodes/n/materialization?datasource=${pipe}_rows`)
  }
  const sourceOf = async (): Promise<ShownSource> => (await service.call('GET', '/v0/datasources/rows')) as ShownSource
  await service.call(
    'POST',
    `/v0/datasources?${new URLSearchParams({ name: 'rows', schema: 'id UInt64 `json:$.id`, n UInt32 `json:$.n`' })}`,
  )
  await service.call('POST', '/v0/datasources?name=mended&schema=n+UInt32')
  await fill('slow', `SELECT id, n + ${slowly} AS n FROM rows`)
  await fill('risky', "SELECT id, n + throwIf(n = 13 AND (SELECT count() FROM mended) = 0, 'unlucky') AS n FROM rows")
  const query = new URLSearchParams({ name: 'rows', mode: 'append', url: `${server.origin}/rows.ndjson` })
  const { id } = (await service.call('POST', `/v0/datasources?${query}`)) as { readonly id: string }
  const jobOf = async (): Promise<UrlJob> => (await service.call('GET', `/v0/jobs/${id}`)) as UrlJob
  const untilAtWork = async (isSo: () => Promise<boolean>): Promise<void> => {
    while (!(await isSo())) {
      const job = await jobOf()
      if (!['waiting', 'working'].includes(job.status)) throw new Error(JSON.stringify(job))
    }
  }
  await untilAtWork(async () => (await rowsIn(service, 'rows'))[0] !== '0')
  const parking = service.call(
    'POST',
    '/v0/datasources?mode=append&name=rows&format=ndjson',
    `{"id":${rowCount},"n":13}`,
  )
  const refused = parking.then(String, String)
  await untilAtWork(async () => (await sourceOf()).views_behind !== undefined)
  t.equal((await jobOf()).status, 'working', 'the view was parked in its middle')
  await service.end('SIGKILL')
  t.comment(await refused)
  await service.start()
  let job = await jobOf()
  while (!['done', 'error'].includes(job.status)) job = await jobOf()
  t.match(job, { status: 'done', imported_rows: rowCount }, JSON.stringify(job))
  await service.untilStored('rows')
  const expected = [String(rowCount + 1), String(rowCount + 1)]
  for (const table of ['rows', 'slow_rows']) t.same(await rowsIn(service, table), expected, table)
  await service.call('POST', '/v0/events?name=mended&wait=true', '{"n":1}')
  t.same(await service.call('POST', '/v0/pipes/risky/nodes/n/catch_up'), { behind: null })
  t.same(await rowsIn(service, 'risky_rows'), expected)
})

async function rowsIn(service: KillService, table: string): Promise<readonly string[]> {
  const sql = `SELECT toString(count()) AS c, toString(uniqExact(id)) AS u FROM ${table} FORMAT JSON`
  const { data } = (await service.call('POST', '/v0/sql', sql)) as {
    readonly data: readonly { readonly c: string; readonly u: string }[]
  }
  return data.flatMap(({ c, u }) => [c, u])
}
