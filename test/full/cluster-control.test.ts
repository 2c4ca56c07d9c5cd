// Cluster control of a whole service, on the memory of this machine, with a bound that is always passed.

import t from 'tap'
import { openPipeService } from '../support/api/pipe-service.ts'

const limited = 'The concurrency of an endpoint that fails is limited, as the service is under pressure.'
const free = 'The concurrency of an endpoint is not limited any more.'
const endless = 1_000_000_000_000

t.test(
  'an endpoint that breaks down is cut to one request, others go on, and it is free when it works again',
  async (t) => {
    const room = await openPipeService(t, { clusterMemoryPercentMax: 1, clusterWindowMs: 500, queryTimeMaxMs: 400 })
    const { service, call } = room
    const publish = async (name: string, sql: string): Promise<void> => {
      const { nodes } = await room.create(name, sql)
      t.match(await call('POST', `/v0/pipes/${name}/nodes/${nodes[0]?.id}/endpoint`), { status: 200 })
    }
    await publish('slow', '% SELECT sum(sipHash64(number)) AS s FROM numbers({{UInt64(count)}})')
    await publish('healthy', 'SELECT 1 AS n')
    let count = endless
    let isOver = false
    const statuses: number[] = []
    const ask = async (): Promise<void> => {
      while (!isOver) statuses.push((await call('GET', `/v0/pipes/slow.json?count=${count}`)).status)
    }
    const clients = Array.from({ length: 6 }, ask)
    t.match(await service.log.until(limited, ({ concurrencyMax }) => concurrencyMax === 1), {
      level: 'warn',
      fields: { name: 'slow', reason: 'memory', memory: { capacityBytes: Number } },
    })
    while (!statuses.includes(429)) t.match(await call('GET', '/v0/pipes/healthy.json'), { status: 200 })
    t.strictSame(new Set(statuses), new Set([408, 429]))
    t.match(await call('GET', '/v0/limits'), {
      json: {
        cluster_control: {
          memory: { is_over: true },
          window_ms: 500,
          limited: [{ name: 'slow', reason: 'memory', max: 1, errors: Number, successes: 0 }],
        },
      },
    })
    t.match(await call('GET', '/metrics'), {
      text: /^millrace_endpoint_concurrency_max\{pipe="slow"\} 1$/m,
    })

    count = 1
    t.match(await service.log.until(free, ({ name }) => name === 'slow'), { level: 'info' })
    isOver = true
    await Promise.all(clients)
    const again = await Promise.all(Array.from({ length: 6 }, () => call('GET', '/v0/pipes/slow.json?count=1')))
    t.strictSame(new Set(again.map(({ status }) => status)), new Set([200]))
  },
)
