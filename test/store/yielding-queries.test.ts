// Queries that leave the processors to others, as the system sees the threads that compute them.

import { readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import type { CheckedQuery } from '../../src/schema/expressions/checked-text.types.ts'
import { openEmbeddedStore } from '../../src/store/embedded/embedded-store.ts'
import { checked } from '../support/checked-text.ts'
import { textOf, untilEngine } from '../support/store/engine-pid.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from '../support/store/test-store.ts'

const endless = 'SELECT sum(sipHash64(number)) AS s FROM numbers(1000000000000)'

t.test('a query that yields computes with the lowest priority, where the process may give one', async (t) => {
  const directory = await createTestDirectory()
  const store = await openEmbeddedStore(testStoreOptions(directory.path), silentLogger)
  t.teardown(async () => {
    await store.close()
    await directory.remove()
  })
  const engine = await untilEngine()
  /** The priority of the engine's thread that computes a query. */
  const priorityOf = async (yields: boolean): Promise<number> => {
    const leave = new AbortController()
    const watch = { yields, begin: () => undefined, end: () => undefined }
    const query = { sql: checked<CheckedQuery>(endless), format: 'CSV', settings: {}, watch, signal: leave.signal }
    const before = threadsOf(engine)
    const ended = t.rejects(readAll(store.select(query)))
    let busy = busiest(engine, before)
    for (; busy === null; busy = busiest(engine, before)) await delay(10)
    leave.abort()
    await ended
    return busy.nice
  }
  const capabilities = /^CapEff:\s*([0-9a-f]+)$/m.exec(await readFile('/proc/self/status', 'utf8'))?.[1] ?? '0'
  const capSysNice = (BigInt(`0x${capabilities}`) >> 23n) % 2n === 1n
  t.comment(`the process ${capSysNice ? 'has' : 'lacks'} CAP_SYS_NICE`)
  t.equal(await priorityOf(true), capSysNice ? 19 : 0)
  t.equal(await priorityOf(false), 0, 'and a thread that has yielded is as the others again')
})

interface Thread {
  readonly id: string
  readonly nice: number
  /** Of a processor, in hundredths of a second. */
  readonly ticks: number
}

function threadsOf(pid: number): ReadonlyMap<string, Thread> {
  const ids = readdirSync(`/proc/${pid}/task`)
  const threads = ids.flatMap((id) => {
    const fields = /^\d+ \(.*\) (.*)$/s.exec(textOf(`/proc/${pid}/task/${id}/stat`))?.[1]?.split(' ') ?? []
    // The first is `state`; `utime` and `nice` are the 14th and the 19th of proc_pid_stat(5), which begins with the number and the name.
    return fields.length < 17 ? [] : [{ id, nice: Number(fields[16]), ticks: Number(fields[11]) }]
  })
  return new Map(threads.map((thread) => [thread.id, thread]))
}

/** The thread that has computed for half a second since; null where none has. */
function busiest(pid: number, before: ReadonlyMap<string, Thread>): Thread | null {
  for (const thread of threadsOf(pid).values()) {
    if (thread.ticks - (before.get(thread.id)?.ticks ?? 0) >= 50) return thread
  }
  return null
}

async function readAll(stream: Promise<AsyncIterable<Uint8Array>>): Promise<void> {
  for await (const _ of await stream);
}
