import t from 'tap'
import { findServiceSource } from '../../src/query/service-sources.ts'
import { openTestService } from '../support/api/test-service.ts'

const names = `pipe_stats_rt pipe_stats endpoint_errors datasources_ops_log block_log jobs_log kafka_ops_log
  datasources_storage sinks_ops_log bi_stats_rt`.split(/\s+/)

t.test('service data sources have columns and no rows', async (t) => {
  const service = await openTestService(t)
  for (const name of names) {
    t.strictSame(await service.rows(`SELECT count() FROM tinybird.${name}`), [['0']], name)
    t.strictSame(await service.rows(`SELECT * FROM tinybird.${name} AS log LIMIT 1`), [], name)
  }
  const perPipe = `SELECT pipe_name, count() AS requests, countIf(error = 1) AS errors, quantile(0.95)(duration) AS p95
    FROM tinybird.pipe_stats_rt WHERE start_datetime > now() - INTERVAL 1 DAY GROUP BY pipe_name`
  t.strictSame(await service.rows(perPipe), [])
  t.strictSame(await service.rows('SELECT Options.Names FROM tinybird.datasources_ops_log'), [])
  const merged = 'SELECT quantilesTimingMerge(0.9, 0.95, 0.99)(quantile_timing_state)[2] FROM tinybird.pipe_stats'
  t.equal((await service.rows(merged)).length, 1)

  const nodes = [{ name: 'slow', sql: `% ${perPipe}`, type: 'endpoint' }]
  const created = await service.call('POST', '/v0/pipes', { body: JSON.stringify({ name: 'monitoring', nodes }) })
  t.match(created, { status: 200, json: { nodes: [{ dependencies: ['tinybird.pipe_stats_rt'] }] } })
  t.match(await service.call('GET', '/v0/pipes/monitoring.json'), {
    status: 200,
    json: { rows: 0, meta: [{ name: 'pipe_name' }] },
  })

  const unknown = await service.call('POST', '/v0/sql', { body: 'SELECT 1 FROM tinybird.nothing' })
  t.match(unknown, { status: 400, json: { error: /There is no service Data Source 'tinybird.nothing' here/ } })
  t.equal(findServiceSource(['organization', 'pipe_stats_rt']), undefined)
})
