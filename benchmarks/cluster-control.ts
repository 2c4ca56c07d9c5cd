import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { readOptions, withBench } from './support/bench.ts'
import type { Asked, EndpointCallers } from './support/endpoint-callers.ts'
import { type ServiceProcess, startService } from './support/processes.ts'
import { type Remote, startRemote } from './support/remote-functions.ts'
import { report } from './support/report.ts'
import { createServiceClient, type ServiceClient } from './support/service-client.ts'
import { percentilesOf } from './support/statistics.ts'

/**
 * Does an endpoint that has become slow and fails leave the others what they need?
 *
 * A healthy endpoint is asked so many times a second. Beside it clients ask another one whose query, from some moment on, computes
 * until it is stopped (408). That is done with cluster control off, and with its default options: when the endpoint is cut to one
 * request at a time the healthy one is measured, then the other endpoint is made to work again, and what it takes until nobody is
 * refused any more. Clients wait as `Retry-After` says; in a last part they do not. The callers of each endpoint are a process of their own.
 */
const options = readOptions({
  rows: 1_000_000,
  rate: 40,
  clients: 16,
  seconds: 45,
  waitSecondsMax: 300,
  windowMs: 15_000,
})

interface Phase {
  readonly name: string
  readonly healthy: readonly Asked[]
  readonly slow: readonly Asked[]
}

/** Its phases lie between the others, so that what the machine itself does is in both. */
const aloneName = 'alone'
const none = { p50: Number.NaN, p99: Number.NaN }
const off = { MILLRACE_CLUSTER_MEMORY_PERCENT_MAX: '0', MILLRACE_CLUSTER_LOAD_PER_CORE_MAX: '0' }
const on = { MILLRACE_CLUSTER_WINDOW_MS: String(options.windowMs) }

const { phases, sentences } = await withBench(async ({ directory, opened }) => {
  const first = await startService({ directory })
  await fill(createServiceClient(first)).finally(first.close)
  const without = await startService({ directory, environment: off })
  const uncontrolled = await measureUncontrolled(without).finally(without.close)
  const service = opened(await startService({ directory, environment: on }))
  const controlled = await measureControlled(service)
  return { phases: [...uncontrolled, ...controlled.phases], sentences: controlled.sentences }
})
const alone = phases.filter(({ name }) => name.startsWith(aloneName)).flatMap(({ healthy }) => healthy)
const aloneP99 = percentilesOf(tookMsOf(alone)).p99
report(
  {
    header: ['', 'healthy p50 ms', 'p99', 'ratio of p99', 'answers', 'slow 200', '408', '429', 'cut to'],
    rows: [{ name: 'alone, all of it', healthy: alone, slow: [] }, ...phases].map(({ name, healthy, slow }) => {
      // A phase may be over before anything is asked.
      const { p50, p99 } = healthy.length === 0 ? none : percentilesOf(tookMsOf(healthy))
      const counts = [200, 408, 429].map((status) => String(countOf(slow, status)))
      const limits = slow.flatMap(({ limit }) => limit ?? [])
      const cut = limits.length === 0 ? '' : `${Math.max(...limits)} – ${Math.min(...limits)}`
      const times = [p50.toFixed(1), p99.toFixed(1), (p99 / aloneP99).toFixed(2)].map((text) => text.replace('NaN', ''))
      return [name, ...times, String(healthy.length), ...counts, cut]
    }),
    notes: sentences.join('\n'),
  },
  options.out,
  phases.map(({ name, healthy }) => ({ name, tookMs: tookMsOf(healthy) })),
)

async function fill(client: ServiceClient): Promise<void> {
  await client.createDataSource({ name: 'visits', schema: 'user UInt32, n UInt64', sortingKey: 'user' })
  const rows = Array.from({ length: options.rows }, (_, index) => `${index % 10_000},${index}`)
  await client.append('visits', 'csv', `user,n\n${rows.join('\n')}\n`)
  await publish(
    client,
    'healthy',
    '% SELECT user, count() AS c, sum(n) AS s FROM visits WHERE user = {{UInt32(user)}} GROUP BY user',
  )
  await publish(client, 'slow', '% SELECT sum(sipHash64(number)) AS s FROM numbers({{UInt64(count)}})')
}

async function publish(client: ServiceClient, name: string, sql: string): Promise<void> {
  await client.call('POST', '/v0/pipes', JSON.stringify({ name, nodes: [{ name: 'n', sql }] }))
  await client.call('POST', `/v0/pipes/${name}/nodes/n/endpoint`)
}

async function measureUncontrolled(service: ServiceProcess): Promise<readonly Phase[]> {
  const healthy = await startHealthy(service)
  const alone = await takePhase(aloneName, { healthy, ms: options.seconds * 1_000 })
  const slow = await startSlow(service, { obeysRetryAfter: true })
  await slow.breakDown()
  const beside = await takePhase('beside one that fails, cluster control off', {
    healthy,
    slow,
    ms: options.seconds * 1_000,
  })
  await Promise.all([healthy, slow.callers].map(stopCallers))
  return [alone, beside]
}

async function measureControlled(service: ServiceProcess) {
  const healthy = await startHealthy(service)
  const alone = await takePhase(`${aloneName}, once more`, { healthy, ms: options.seconds * 1_000 })
  const slow = await startSlow(service, { obeysRetryAfter: true })
  const works = await takePhase('beside it while it works', { healthy, slow, ms: 10_000 })
  const breaking = await takeBreakdown(service, { healthy, slow })
  const cut = await takePhase('cut', { healthy, slow, ms: 2 * options.seconds * 1_000 })
  await stopCallers(slow.callers)
  const between = await takePhase(`${aloneName}, a third time`, { healthy, ms: options.seconds * 1_000 })
  const impatient = await startSlow(service, { obeysRetryAfter: false })
  const again = await takeBreakdown(service, { healthy, slow: impatient })
  const stormed = await takePhase('cut, clients do not wait', { healthy, slow: impatient, ms: options.seconds * 1_000 })
  await impatient.repair()
  const repairedAtMs = Date.now()
  const recovers = await takePhase('while it recovers', { healthy, slow: impatient, ms: 3 * options.windowMs })
  const lastRefusedMs = Math.max(0, ...refusalsIn(recovers).map(({ atMs }) => atMs - repairedAtMs))
  await Promise.all([healthy, impatient.callers].map(stopCallers))
  return {
    phases: [alone, works, ...breaking.phases, cut, between, ...again.phases, stormed, recovers],
    sentences: [
      ...[breaking, again].map(({ limitedAfterMs, cutAfterMs }) => {
        return `It was limited ${seconds(limitedAfterMs)} after it broke down, and cut to one request at once after ${seconds(cutAfterMs)}.`
      }),
      `The last refusal was ${seconds(lastRefusedMs)}, ${(lastRefusedMs / options.windowMs).toFixed(1)} windows, after it worked again.`,
    ],
  }
}

/** From the moment in which every request fails until what was taken in before the limit has ended. */
async function takeBreakdown(
  service: ServiceProcess,
  { healthy, slow }: Pick<PhaseOptions, 'healthy'> & { readonly slow: Slow },
) {
  await slow.breakDown()
  const brokenAtMs = performance.now()
  const known = limitIn(service.lastLog())
  const isLimited = (): boolean => ![undefined, known].includes(limitIn(service.lastLog()))
  const unnoticed = await takePhase('it fails, and is not limited yet', { healthy, slow, until: isLimited })
  const limitedAfterMs = performance.now() - brokenAtMs
  const isCut = async (): Promise<boolean> => (await slow.callers.call('lastAnswer', undefined))?.limit === 1
  const ending = await takePhase('until its earlier requests end', { healthy, slow, until: isCut })
  const cutAfterMs = performance.now() - brokenAtMs
  // One that was taken in last may run for the longest time that a query may take.
  await takePhase('', { healthy, slow, ms: options.windowMs })
  return { phases: [unnoticed, ending], limitedAfterMs, cutAfterMs }
}

/** The last entry of the log about a limit; undefined where there is none in its end. */
function limitIn(log: string): string | undefined {
  return log.split('\n').findLast((line) => line.includes('concurrency of an endpoint that fails is limited'))
}

function refusalsIn({ slow }: Phase): readonly Asked[] {
  return slow.filter(({ status }) => status === 429)
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`
}

type Callers = Remote<EndpointCallers>
type Slow = Awaited<ReturnType<typeof startSlow>>

async function startHealthy({ url, headers }: ServiceProcess): Promise<Callers> {
  const callers = startCallers()
  const paths = Array.from({ length: 10_000 }, (_, index) => `/v0/pipes/healthy.json?user=${(7 * index) % 10_000}`)
  await callers.call('startPaced', { url, headers, paths, perSecond: options.rate })
  return callers
}

async function startSlow({ url, headers }: ServiceProcess, { obeysRetryAfter }: { readonly obeysRetryAfter: boolean }) {
  const callers = startCallers()
  const pathsOf = (count: number): readonly string[] => [`/v0/pipes/slow.json?count=${count}`]
  const { clients: clientCount } = options
  await callers.call('startClosed', { url, headers, paths: pathsOf(1_000), clientCount, obeysRetryAfter })
  return {
    callers,
    breakDown: () => callers.call('askFor', pathsOf(1_000_000_000_000)),
    repair: () => callers.call('askFor', pathsOf(1_000)),
  }
}

function startCallers(): Callers {
  return startRemote<EndpointCallers>(fileURLToPath(import.meta.resolve('./support/endpoint-callers.js')))
}

async function stopCallers(callers: Callers): Promise<void> {
  await callers.call('stop', undefined)
  await callers.close()
}

interface PhaseOptions {
  readonly healthy: Callers
  readonly slow?: Pick<Slow, 'callers'>
  readonly ms?: number
  readonly until?: () => boolean | Promise<boolean>
}

/** What is asked meanwhile. */
async function takePhase(name: string, { healthy, slow, ms, until }: PhaseOptions): Promise<Phase> {
  const beganMs = Date.now()
  const endMs = beganMs + (ms ?? options.waitSecondsMax * 1_000)
  while (Date.now() < endMs && !(await until?.())) await delay(100)
  const untilMs = Date.now()
  const askedOf = async (callers: Callers): Promise<readonly Asked[]> => {
    return (await callers.call('answersSince', beganMs)).filter(({ atMs }) => atMs < untilMs)
  }
  return { name, healthy: await askedOf(healthy), slow: slow === undefined ? [] : await askedOf(slow.callers) }
}

function tookMsOf(asked: readonly Asked[]): readonly number[] {
  return asked.map(({ tookMs }) => tookMs)
}

function countOf(asked: readonly Asked[], status: number): number {
  return asked.filter((one) => one.status === status).length
}
