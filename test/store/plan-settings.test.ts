// What plans set reaches the engine: the threads of a query, and its time.

import t from 'tap'
import type { CheckedQuery } from '../../src/schema/expressions/checked-text.types.ts'
import { openEmbeddedStore } from '../../src/store/embedded/embedded-store.ts'
import { checked } from '../support/checked-text.ts'
import { optionsOf } from '../support/limits/test-rates.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from '../support/store/test-store.ts'

async function settingsOf(flags: readonly string[], threads: number | undefined): Promise<string> {
  const directory = await createTestDirectory()
  const { queryTimeMaxMs } = optionsOf(...flags)
  const store = await openEmbeddedStore({ ...testStoreOptions(directory.path), queryTimeMaxMs }, silentLogger)
  try {
    const sql = checked<CheckedQuery>("SELECT getSetting('max_threads'), getSetting('max_execution_time')")
    const { signal } = new AbortController()
    const asked = { sql, format: 'CSV', settings: {}, signal, ...(threads === undefined ? {} : { threads }) }
    const chunks: Uint8Array[] = []
    for await (const chunk of await store.select(asked)) chunks.push(chunk)
    return Buffer.concat(chunks).toString()
  } finally {
    await store.close()
    await directory.remove()
  }
}

t.test('the engine runs a query with its threads, and for the time of the plan', async (t) => {
  t.equal(await settingsOf(['--plan=free'], undefined), '1,10\n')
  t.equal(await settingsOf(['--plan=developer'], 3), '3,20\n')
  t.equal(await settingsOf(['--plan=enterprise'], 4), '4,30\n')
  t.equal(await settingsOf(['--plan=enterprise', '--plan-variant=b'], 2), '2,10\n')
  t.equal(await settingsOf(['--plan=free', '--query-time-max-ms=1500'], 1), '1,1.5\n')
})
