// A service that is killed loses the rows of its service data sources that were in memory, and no others.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { StartedProgram } from '../support/packed-package.ts'
import { createTestDirectory } from '../support/store/test-store.ts'

const mainPath = fileURLToPath(new URL('../../src/main.js', import.meta.url))

t.test('rows that were stored outlive a kill, and the last ones may be lost', async (t) => {
  const directory = await createTestDirectory()
  t.teardown(() => directory.remove())
  const dataDir = join(directory.path, 'data')
  const start = async (flushMs: number) => {
    const flags = ['--service-rows-flush-ms', String(flushMs)]
    const command = ['env', 'UV_THREADPOOL_SIZE=16', process.execPath, mainPath, ...flags] as const
    const program = new StartedProgram(t, command, { cwd: directory.path, dataDir })
    const address = await program.address()
    const token = readFileSync(join(dataDir, 'admin-token'), 'utf8').trim()
    const sql = async (query: string): Promise<string> => {
      const answer = await fetch(`${address}/v0/sql`, {
        method: 'POST',
        body: query,
        headers: { authorization: `Bearer ${token}` },
      })
      return await answer.text()
    }
    const count = async (): Promise<number> =>
      Number(await sql('SELECT count() FROM tinybird.pipe_stats_rt FORMAT TSV'))
    return { program, sql, count }
  }
  const kill = async ({ program }: Awaited<ReturnType<typeof start>>): Promise<void> => {
    program.child.kill('SIGKILL')
    await program.exited
  }

  const first = await start(10)
  for (let sent = 0; sent < 20; sent += 1) await first.sql(`SELECT ${sent}`)
  while ((await first.count()) < 20);
  await kill(first)

  // What is told in the minutes before the next flush is in memory alone.
  const second = await start(600_000)
  t.equal(await second.count(), 20)
  for (let sent = 0; sent < 5; sent += 1) await second.sql(`SELECT ${sent}`)
  t.equal(await second.count(), 20)
  await kill(second)

  const third = await start(10)
  t.equal(await third.count(), 20)
  await third.sql('SELECT 1')
  while ((await third.count()) < 21);
  t.equal(await third.count(), 21)
})
