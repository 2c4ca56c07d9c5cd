// A real Prometheus reads the metrics, by the configuration that docs/monitoring.md shows.

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { openTestService } from '../support/api/test-service.ts'
import { freePort } from '../support/free-port.ts'
import { findPrometheus, type PrometheusPrograms } from '../support/metrics/prometheus-programs.ts'
import { blocksOf } from '../support/page-blocks.ts'
import { repositoryRoot } from '../support/repository-root.ts'
import { createTestDirectory } from '../support/store/test-store.ts'

const adminToken = 'p.prometheus.token'
const page = readFileSync(join(repositoryRoot, 'docs/monitoring.md'), 'utf8')

interface QueryAnswer {
  readonly status: string
  readonly error?: string
  readonly data?: { readonly result: readonly { readonly value: readonly [number, string] }[] }
}

t.test('Prometheus reads what the service tells, and promtool has nothing against it', async (t) => {
  const directory = await createTestDirectory()
  t.teardown(() => directory.remove())
  const programs = findPrometheus(directory.path)
  if (programs === null) return t.comment('left out: this system has neither Prometheus nor packages of Debian')
  const service = await openTestService(t, { adminToken })
  const call = { token: adminToken }
  await service.call('POST', `/v0/datasources?name=visits&schema=${encodeURIComponent('a Int32 `json:$.a`')}`, call)
  await service.events('visits', '{"a":1}\n{"a":2}\n{"a":"no"}', { wait: 'true' }, call)
  const body = JSON.stringify({ name: 'top', nodes: [{ name: 'n', sql: 'SELECT 1 AS x', type: 'endpoint' }] })
  await service.call('POST', '/v0/pipes', { ...call, body })
  await service.call('GET', '/v0/pipes/top.json', call)
  const { text } = await service.call('GET', '/metrics', call)
  const checked = spawnSync(programs.promtool, ['check', 'metrics'], { input: text, encoding: 'utf8' })
  t.equal(checked.stdout + checked.stderr, '')
  t.equal(checked.status, 0)
  const query = await startPrometheus(t, programs, { folder: directory.path, address: service.address })
  while ((await query('up == 1')).data?.result.length !== 1) await delay(100)
  for (const [expression, value] of [
    ['millrace_ready', '1'],
    ['millrace_datasource_rows_total{datasource="visits",way="events"}', '2'],
    ['sum(millrace_datasource_quarantined_rows_total)', '1'],
    ['millrace_endpoint_request_duration_seconds_count{pipe="top"}', '1'],
    ['millrace_datasource_queryable_lag_seconds_count{datasource="visits"}', '1'],
    ['count(nodejs_heap_size_used_bytes)', '1'],
  ] as const) {
    const { data } = await query(expression)
    t.equal(data?.result[0]?.value[1], value, expression)
  }
  const shown = [...page.matchAll(/^\| [^|]+\? \| `([^`]+)` \|$/gm)].map(([, expression = '']) => expression)
  t.ok(shown.length >= 9)
  for (const expression of shown) {
    const { status, error } = await query(expression)
    t.equal(status, 'success', `${expression}: ${error}`)
    // Each of them speaks of metrics that there are.
    for (const [name] of expression.matchAll(/millrace_\w+/g))
      t.ok(text.includes(`\n# TYPE ${name.replace(/_bucket$/, '')} `), name)
  }
})

/** Gives what asks it. */
async function startPrometheus(
  t: Test,
  { prometheus, promtool }: PrometheusPrograms,
  { folder, address }: { readonly folder: string; readonly address: string },
): Promise<(expression: string) => Promise<QueryAnswer>> {
  const tokenPath = join(folder, 'token')
  writeFileSync(tokenPath, adminToken)
  const [config = ''] = blocksOf(page).flatMap(({ text }) => (text.startsWith('scrape_configs:') ? [text] : []))
  const path = join(folder, 'prometheus.yml')
  const own = config
    .replace('/etc/prometheus/millrace-token', tokenPath)
    .replace('127.0.0.1:7181', new URL(address).host)
  writeFileSync(path, `global:\n  scrape_interval: 1s\n${own}`)
  const checked = spawnSync(promtool, ['check', 'config', path], { encoding: 'utf8' })
  t.equal(checked.status, 0, checked.stdout + checked.stderr)
  const port = await freePort()
  const child = spawn(
    prometheus,
    [`--config.file=${path}`, `--storage.tsdb.path=${join(folder, 'tsdb')}`, `--web.listen-address=127.0.0.1:${port}`],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  let said = ''
  child.stderr.on('data', (chunk: Buffer) => {
    said = `${said}${chunk}`.slice(-4_000)
  })
  const exited = once(child, 'exit')
  t.teardown(async () => {
    child.kill('SIGKILL')
    await exited
  })
  const base = `http://127.0.0.1:${port}`
  while (!(await isReady(base))) {
    if (child.exitCode !== null) throw new Error(`Prometheus ended: ${said}`)
    await delay(100)
  }
  return async (expression) => {
    const response = await fetch(`${base}/api/v1/query?query=${encodeURIComponent(expression)}`)
    // The shape is that of its API.
    return (await response.json()) as QueryAnswer
  }
}

async function isReady(base: string): Promise<boolean> {
  try {
    return (await fetch(`${base}/-/ready`)).ok
  } catch {
    // It does not listen yet.
    return false
  }
}
