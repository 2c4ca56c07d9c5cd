// Views that are behind, as whoever watches the service sees them: in the metrics, and on the page of its status.

import t from 'tap'
import { RiskySource } from '../support/api/risky-source.ts'
import { openTestService, type TestService } from '../support/api/test-service.ts'
import { parseExposition } from '../support/metrics/exposition.ts'

async function behindMetrics(service: TestService): Promise<Readonly<Record<string, number>>> {
  const { values } = parseExposition((await service.call('GET', '/metrics')).text)
  return Object.fromEntries([...values].filter(([name]) => /^millrace_view(s_(behind|backlog)|_)/.test(name)))
}

async function statusOf(service: TestService, call = {}): Promise<{ readonly text: string; readonly json: unknown }> {
  const { text } = await service.call('GET', '/health/status', call)
  const { json } = await service.call('GET', '/health/status', { ...call, headers: { accept: 'application/json' } })
  return { text, json }
}

t.test(
  'views that are behind are counted, told with what waits for them, and gone when they have caught up',
  async (t) => {
    const options = { metricsLabelsMax: 2, viewsBacklogBytesMax: 4_194_304, viewsBacklogImportBytesMax: 1_048_576 }
    const service = await openTestService(t, options)
    const open = (name: string): Promise<RiskySource> => new RiskySource(service, name).create()
    const rest = {
      'millrace_views_behind{state="parked"}': 0,
      'millrace_views_behind{state="incomplete"}': 0,
      'millrace_views_backlog_bytes{of="events"}': 0,
      'millrace_views_backlog_bytes{of="imports"}': 0,
      'millrace_views_backlog_limit_bytes{of="events"}': 4_194_304,
      'millrace_views_backlog_limit_bytes{of="imports"}': 1_048_576,
    }
    t.same(await behindMetrics(service), rest)
    t.match((await statusOf(service)).text, /^views {5}0 parked, 0 incomplete, 0 bytes kept for them$/m)

    const [parked, short] = [await open('parked'), await open('short')]
    await parked.park(1)
    await service.append('parked', 'ndjson', '{"id":2,"n":1}')
    await short.park(1)
    t.equal((await service.call('POST', '/v0/datasources/short_risky_rows/truncate')).status, 205)
    const shown = await behindMetrics(service)
    const [{ blocks, bytes } = { blocks: 0, bytes: 0 }] = await parked.behind()
    t.equal(blocks, 2)
    const ofParked = '{pipe="parked_risky",node="parked_risky_view"}'
    const ofShort = '{pipe="short_risky",node="short_risky_view"}'
    const [events, imports] = ['events', 'imports'].map((of) => shown[`millrace_views_backlog_bytes{of="${of}"}`] ?? 0)
    t.equal((events ?? 0) + (imports ?? 0), bytes)
    t.ok(events && imports)
    t.same(shown, {
      ...rest,
      'millrace_views_behind{state="parked"}': 1,
      'millrace_views_behind{state="incomplete"}': 1,
      'millrace_views_backlog_bytes{of="events"}': events,
      'millrace_views_backlog_bytes{of="imports"}': imports,
      [`millrace_view_incomplete${ofParked}`]: 0,
      [`millrace_view_incomplete${ofShort}`]: 1,
      [`millrace_view_backlog_blocks${ofParked}`]: 2,
      [`millrace_view_backlog_blocks${ofShort}`]: 0,
      [`millrace_view_backlog_bytes${ofParked}`]: bytes,
      [`millrace_view_backlog_bytes${ofShort}`]: 0,
    })
    const own = await statusOf(service)
    t.match(own.text, /^views {5}1 parked, 1 incomplete, [\d.]+ KiB kept for them$/m)
    t.match(own.text, /^behind {4}parked_risky\.parked_risky_view: parked, 2 blocks, [\d.]+ KiB$/m)
    t.match(own.text, /^ {10}short_risky\.short_risky_view: incomplete, 0 blocks, 0 bytes$/m)
    t.match(own.json, {
      status: 'ready',
      views: { parked: 1, incomplete: 1, backlog_bytes: bytes },
      views_behind: [
        { pipe: 'parked_risky', node: 'parked_risky_view', state: 'parked', blocks: 2, bytes },
        { pipe: 'short_risky', node: 'short_risky_view', state: 'incomplete', blocks: 0, bytes: 0 },
      ],
    })
    const others = await statusOf(service, { token: null })
    t.match(others.text, /^views {5}1 parked, 1 incomplete, /m)
    t.match(others.json, { views: { parked: 1, incomplete: 1, backlog_bytes: bytes } })
    for (const { text, json } of [others]) t.notMatch(text + JSON.stringify(json), /risky|views_behind/)

    await parked.mend()
    t.same((await parked.catchUp()).json, { behind: null })
    await service.call('DELETE', '/v0/pipes/short_risky/nodes/short_risky_view/materialization')
    t.same(await behindMetrics(service), rest)
  },
)

t.test('more than may be told apart share a label, and the SELECTs of a node are one view', async (t) => {
  const service = await openTestService(t, { metricsLabelsMax: 1 })
  const source = await new RiskySource(service, 'one').create()
  await service.create('beside', 'id UInt32, n UInt32')
  const fails = 'n >= 13 AND (SELECT count() FROM one_mended) = 0'
  const select = (name: string): string => `SELECT id, n + throwIf(${fails}) AS n FROM ${name}`
  await source.views.fill('united', `${select('one')} UNION ALL ${select('beside')}`, { datasource: 'united_rows' })
  await service.append('one', 'ndjson', '{"id":1,"n":13}')
  await service.append('beside', 'ndjson', '{"id":2,"n":13}')
  const shown = await behindMetrics(service)
  const bytes = 8_192
  t.match(shown, {
    'millrace_views_behind{state="parked"}': 2,
    'millrace_view_backlog_blocks{pipe="united",node="united_view"}': 2,
    'millrace_view_backlog_blocks{pipe="(other)",node="(other)"}': 1,
    'millrace_view_backlog_bytes{pipe="united",node="united_view"}': 2 * bytes,
    'millrace_view_backlog_bytes{pipe="(other)",node="(other)"}': bytes,
    'millrace_views_backlog_bytes{of="imports"}': 2 * bytes,
  })
  t.equal(Object.keys(shown).length, 6 + 3 * 2)
})
