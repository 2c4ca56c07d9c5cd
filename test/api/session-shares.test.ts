// Whoever asks for more than there is waits for himself, and not the others for him.

import t from 'tap'
import { openPipeService } from '../support/api/pipe-service.ts'

/** Computes until it is stopped. */
const endless = 'SELECT sum(sipHash64(number)) AS s FROM numbers(1000000000000)'

t.test(
  'an endpoint, or a token, that takes long and is asked for again and again leaves sessions to others',
  async (t) => {
    const room = await openPipeService(t, { readSessions: 4, queryTimeMaxMs: 60_000 })
    const { call } = room
    const publish = async (name: string, sql: string): Promise<void> => {
      const { nodes } = await room.create(name, sql)
      t.match(await call('POST', `/v0/pipes/${name}/nodes/${nodes[0]?.id}/endpoint`), { status: 200 })
    }
    await publish('slow', endless)
    await publish('healthy', 'SELECT 1 AS n')
    t.match(await call('GET', '/v0/pipes/healthy.json'), { status: 200 })
    const untilBusy = async (count: number): Promise<void> => {
      const busy = new RegExp(`^millrace_engine_sessions_busy\\{purpose="query"\\} ${count}$`, 'm')
      while (!busy.test((await call('GET', '/metrics')).text));
    }
    for (const path of ['/v0/pipes/slow.json', `/v0/sql?${new URLSearchParams({ q: endless })}`]) {
      const leaving = new AbortController()
      let endedCount = 0
      const asked = Array.from({ length: 6 }, async () => {
        await call('GET', path, { signal: leaving.signal })
        endedCount += 1
      })
      await untilBusy(3)
      t.match(await call('GET', '/v0/pipes/healthy.json'), { status: 200 })
      t.equal(endedCount, 0, 'the others are still at work')
      leaving.abort()
      t.ok((await Promise.allSettled(asked)).every(({ status }) => status === 'rejected'))
      await untilBusy(0)
    }
  },
)
