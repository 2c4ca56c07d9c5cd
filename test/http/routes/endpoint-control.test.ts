import t, { type Test } from 'tap'
import { EndpointLoad } from '../../../src/cluster/endpoint-load.ts'
import type { Query } from '../../../src/query/query.types.ts'
import { openFakeCluster } from '../../support/cluster/fake-machine.ts'
import { openEndpoints } from '../../support/http/test-endpoints.ts'

/** Holds requests once they have been taken in and have run, until so many are held. */
class Held {
  #count = 0
  readonly #waiting: (() => void)[] = []

  readonly between = (query: Query): Query => ({
    ...query,
    prepare: (request) => query.prepare(request),
    run: (request) => query.run(request),
    explain: (request) => query.explain(request),
    show: (request) => query.show(request),
    readPipe: async (request) => {
      let isTaken = false
      const admit: typeof request.admit = (pipe) => {
        const watch = request.admit?.(pipe)
        isTaken = true
        return watch
      }
      try {
        return await query.readPipe({ ...request, admit })
      } finally {
        if (isTaken) await this.#meet()
      }
    },
  })

  /** The next requests go on when there are so many of them. */
  expect(count: number): void {
    this.#count = count
  }

  async #meet(): Promise<void> {
    this.#count -= 1
    if (this.#count > 0) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
      return
    }
    for (const goOn of this.#waiting.splice(0)) goOn()
  }
}

async function openControlled(t: Test, clusterProcessorPercentMin = 0) {
  const held = new Held()
  const cluster = openFakeCluster({ clusterProcessorPercentMin })
  const room = await openEndpoints(
    t,
    // An endpoint that fails computes with what other tests leave of the processors.
    { queryTimeMaxMs: 3_000 },
    { clusterControl: cluster.control, between: held.between, appLimits: { formBytesMax: 40_000 } },
  )
  const status = "{% if defined(status) %} {{custom_error({'error': 'made'}, Int32(status))}} {% end %}"
  room.workspace.addPipe('slow', { a: `% SELECT 1 AS n ${status}` }, 'a')
  room.workspace.addPipe('late', { a: 'SELECT sum(number) AS n FROM numbers(1000000000000)' }, 'a')
  room.workspace.addPipe('other', { a: 'SELECT 2 AS n' }, 'a')
  /** So many of them are in at once. */
  const askAtOnce = async (taken: number, urls: readonly string[]) => {
    held.expect(taken)
    return await Promise.all(urls.map((url) => room.get(url)))
  }
  return { ...room, ...cluster, askAtOnce }
}

const slow = '/v0/pipes/slow.json'

t.test(
  'an endpoint that fails under pressure takes fewer requests at once, and others as many as before',
  async (t) => {
    const { askAtOnce, machine, turn, control, deps } = await openControlled(t)
    machine.load = 6.01
    const statuses = async (taken: number, urls: readonly string[]) =>
      (await askAtOnce(taken, urls)).map(({ statusCode }) => statusCode).sort()

    t.strictSame(await statuses(4, [slow, slow, `${slow}?status=500`, `${slow}?status=408`]), [200, 200, 408, 500])
    t.strictSame(await statuses(4, [slow, slow, slow, slow]), [200, 200, 200, 200], 'the window runs on')
    turn()
    // Of a peak of 4, with 2 errors beside 6 successes.
    t.strictSame(await statuses(3, [slow, slow, slow, slow, slow]), [200, 200, 200, 429, 429])
    t.strictSame(await statuses(4, Array(4).fill('/v0/pipes/other.json')), [200, 200, 200, 200])
    t.match(control.state(), { refusedCount: 2, limited: [{ name: 'slow', reason: 'processor', concurrencyMax: 3 }] })
    t.match(deps.hits, [
      { limit: 'endpoint_concurrency', code: 'ENDPOINT_LIMITED', status: 429, resource: 'slow' },
      { limit: 'endpoint_concurrency' },
    ])
    turn()
    t.strictSame(await statuses(4, [slow, slow, slow, slow]), [200, 200, 200, 200], 'it works, and is free again')
  },
)

t.test('a request beyond the limit is told when to come again', async (t) => {
  const { askAtOnce, machine, turn, pass, get } = await openControlled(t)
  machine.usedBytes = 801
  await askAtOnce(2, [`${slow}?status=500`, `${slow}?status=500`])
  turn()
  pass(1_000)
  const refused = (await askAtOnce(1, [slow, slow])).find(({ statusCode }) => statusCode === 429)
  t.match(refused?.headers, {
    'retry-after': '9',
    'x-ratelimit-limit': '1',
    'x-ratelimit-remaining': '0',
    'x-ratelimit-reset': '9',
    ratelimit: '"endpoint_concurrency";r=0;t=9',
    'ratelimit-policy': '"endpoint_concurrency";q=1;qu="concurrent-requests"',
  })
  t.match(refused?.json(), {
    error:
      "The endpoint 'slow' takes 1 request at once for now: the service is short of memory, and too many answers of the endpoint were errors; repeat the request later",
    documentation: /errors\.md#endpoint_limited$/,
  })
  t.equal((await get(slow)).statusCode, 200, 'one at a time is taken')
  // Whoever may not read it, and whoever asks for nothing, hears of no limit.
  t.equal((await get('/v0/pipes/nothing.json')).statusCode, 404)
})

t.test(
  'a refusal of callers who do not wait as they are told comes later, and others are answered meanwhile',
  async (t) => {
    const { askAtOnce, machine, turn, control, get, post, delays } = await openControlled(t)
    machine.usedBytes = 801
    await askAtOnce(2, [`${slow}?status=500`, `${slow}?status=500`])
    turn()
    const [limited] = control.state().limited
    t.ok(control.take({ id: limited?.pipeId ?? '', name: 'slow' }) instanceof EndpointLoad)
    t.strictSame([(await get(slow)).statusCode, (await get(slow)).statusCode], [429, 429])
    const held = get(slow)
    while (delays.length === 0) await new Promise((resolve) => setImmediate(resolve))
    t.equal((await get('/v0/pipes/other.json')).statusCode, 200)
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    t.equal((await post(slow, `x=${'a'.repeat(20_000)}`, form)).statusCode, 429, 'what takes room comes at once')
    t.equal(delays.length, 1)
    delays[0]?.()
    t.match(await held, { statusCode: 429, headers: { 'x-ratelimit-limit': '1' } })
  },
)

t.test(
  'under pressure on the processors an endpoint is limited for the time that the engine works for it',
  async (t) => {
    const { machine, turn, pass, get, control } = await openControlled(t, 10)
    machine.load = 7
    const { take } = control
    control.take = (pipe) => {
      const load = take.call(control, pipe)
      if (!(load instanceof EndpointLoad)) return load
      const { end } = load
      load.end = (threadCount) => {
        pass(30_000)
        end.call(load, threadCount)
      }
      return load
    }
    t.equal((await get(`${slow}?status=500`)).statusCode, 500)
    t.equal((await get('/v0/pipes/late.json')).statusCode, 408)
    turn()
    t.match(control.state().limited, [{ name: 'late', reason: 'processor', concurrencyMax: 1, errorCount: 1 }])
    t.equal(control.state().limited.length, 1)
  },
)

t.test('without pressure nothing is refused, whatever fails', async (t) => {
  const { askAtOnce, turn, control } = await openControlled(t)
  await askAtOnce(3, Array(3).fill(`${slow}?status=500`))
  turn()
  t.match(await askAtOnce(3, [slow, slow, slow]), Array(3).fill({ statusCode: 200 }))
  t.match(control.state(), { refusedCount: 0, limitedCount: 0, limited: [] })
})
