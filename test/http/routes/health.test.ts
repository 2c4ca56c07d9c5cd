import t, { type Test } from 'tap'
import { createApp } from '../../../src/app.ts'
import type { ServiceState } from '../../../src/metrics/service-state.types.ts'
import type { Logger } from '../../../src/observe/logger.ts'
import { ask, createFakeDeps, limits, token } from '../../support/http/fake-deps.ts'
import { anyState } from '../../support/metrics/any-state.ts'
import { silentLogger } from '../../support/store/test-store.ts'

const authorization = `Bearer ${token}`
const json = { accept: 'application/json' }

async function open(t: Test, change: Partial<ServiceState> = {}, metricsAddresses = '', logger: Logger = silentLogger) {
  const deps = { ...createFakeDeps(), logger }
  const { id } = await deps.dataSources.create({
    name: 'visits',
    description: '',
    schema: 'id UInt32',
    engine: null,
    type: 'ndjson',
  })
  const waiting = [{ dataSourceId: id, rows: 12, bytes: 2_048, isFailing: true }]
  const jobs = [{ kind: 'import', status: 'working', count: 2 }]
  const sessions = [{ purpose: 'query', count: 8, busyCount: 3, lostCount: 1, waitingCount: 2 }]
  const engine = { ...anyState.engine, sessions, residentBytes: 330 * 1024 ** 2, memoryBytesMax: 2 * 1024 ** 3 }
  const views: ServiceState['views'] = {
    behind: [{ pipe: 'days', node: 'sums', isIncomplete: false, blockCount: 3, byteCount: 2_048 }],
    backlogs: [{ of: 'events', bytes: 3_072, bytesMax: 4_096 }],
  }
  const state = { ...anyState, waiting, jobs, engine, views, dataSourceCount: 1, ...change }
  const ingest = { ...deps.ingest, logState: () => state.log }
  const engineFault = () => state.engineFault
  const disk = { ...deps.disk, reason: state.diskFault }
  const app = createApp({ ...deps, ingest, engineFault, disk, state: () => state }, { ...limits, metricsAddresses })
  t.teardown(() => app.close())
  return app
}

t.test('the status is a page of words and numbers, and JSON for who asks for it', async (t) => {
  const app = await open(t)
  const page = await ask(app, { url: '/health/status', headers: { authorization } })
  t.equal(page.statusCode, 200)
  t.equal(page.headers['content-type'], 'text/plain; charset=utf-8')
  t.match(page.body.split('\n'), [
    'status    ready',
    'up        0 min 0 s',
    'reading   works',
    'writing   works',
    'disk      takes writes',
    'log       0 bytes of 1 bytes, 12 rows wait, 1 data sources cannot be stored',
    'engine    0 restarts, 330.0 MiB of 2.0 GiB',
    'views     1 parked, 0 incomplete, 3.0 KiB kept for them',
    'sessions  query: 3 of 8 busy, 1 lost, 2 statements wait',
    'objects   1 data sources, 0 pipes',
    'jobs      import: 2 working',
    'waiting   visits: 12 rows, 2.0 KiB, cannot be stored',
    'behind    days.sums: parked, 3 blocks, 2.0 KiB',
  ])
  const shape = await ask(app, { url: '/health/status', headers: { ...json, authorization } })
  t.match(shape.json(), {
    status: 'ready',
    reason: null,
    reading: 'works',
    log: { waiting_rows: 12, failing_data_sources: 1, is_full: false },
    engine: { sessions: [{ purpose: 'query', count: 8, busy: 3, lost: 1, waiting: 2 }] },
    jobs: [{ kind: 'import', status: 'working', count: 2 }],
    waiting: [{ name: 'visits', rows: 12, is_failing: true }],
    views: { parked: 1, incomplete: 0, backlog_bytes: 3_072 },
    views_behind: [{ pipe: 'days', node: 'sums', state: 'parked', blocks: 3, bytes: 2_048 }],
  })
})

t.test('who may not watch the service is told no names', async (t) => {
  for (const [headers, metricsAddresses, isTold] of [
    [{}, '', false],
    [{ authorization: 'Bearer p.wrong' }, '', false],
    [{ authorization }, '', true],
    [{}, '127.0.0.1', true],
    [{}, '10.0.0.0/8', false],
  ] as const) {
    const app = await open(t, {}, metricsAddresses)
    for (const accept of ['*/*', 'application/json']) {
      const { statusCode, body } = await ask(app, { url: '/health/status', headers: { ...headers, accept } })
      t.equal(statusCode, 200)
      t.equal(body.includes('visits'), isTold, `${JSON.stringify(headers)} ${metricsAddresses} ${accept}`)
      t.equal(/import/.test(body), isTold)
      t.equal(/days/.test(body), isTold)
    }
  }
})

t.test('what keeps reading or writing from going on is told, and the service is not ready', async (t) => {
  for (const [change, code, line] of [
    [{ diskFault: 'the disk is full' }, 'disk_unavailable', /^writing {3}the disk is full$/m],
    [
      { engineFault: 'queries that cannot be stopped hold all of its sessions' },
      'engine_unavailable',
      /^reading {3}queries that cannot be stopped hold all of its sessions$/m,
    ],
    [{ log: { ...anyState.log, isFull: true } }, 'log_full', /^writing {3}the log of events is at its limit$/m],
  ] as const) {
    const told: string[] = []
    const app = await open(t, change, '', { ...silentLogger, error: (_fields, message) => told.push(message) })
    const ready = await ask(app, '/health/ready')
    t.equal(ready.statusCode, 503)
    t.match(ready.json().documentation, new RegExp(`#${code}$`))
    const page = await ask(app, '/health/status')
    t.equal(page.statusCode, 503)
    t.match(page.body, line)
    t.match(page.body, `status    unready: ${ready.json().error}`)
    t.equal((await ask(app, { method: 'HEAD', url: '/health/status' })).statusCode, 503)
    t.same(told, ['A request was refused for the state of the service.'], 'all of them are one entry of the log')
  }
})
