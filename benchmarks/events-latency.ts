import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { benchEnvironment, describeEnvironment, writeResult } from './support/bench-environment.ts'
import { type EventsSendingProcess, startEventsSendingProcess } from './support/events-sending-process.ts'
import { type LatencyCase, type LatencyOptions, type LatencyResult, measureLatency } from './support/latency-case.ts'
import { startServiceProcess } from './support/service-process.ts'
import type { Percentiles } from './support/statistics.ts'
import { textTable } from './support/text-table.ts'

/**
 * How long does an event take to its answer, and until a query finds it, at a fixed rate?
 *
 * The sender is an open loop: bodies are due at even intervals whatever the service does, and the clock of each runs from
 * the time it was due, not from the time it was sent (no coordinated omission). A rate of events is spread over bodies,
 * because no client sends 100,000 requests a second to one process; each body counts once.
 *
 * The answer 202 says that the events are on disk. When they can be queried is learned by a query every --poll-ms (20),
 * which asks for the bodies that it has not found yet; what it tells is too late by at most one interval and one query,
 * never too early, and the queries are part of the service's load. With `wait=true` the answer 200 says that a query finds
 * the events, and nobody polls. A body that is refused (503) is not sent again; any makes the exit code 1.
 *
 * Options: --cases=20000x10,100000x100,20000x10-wait (events a second x events a body), --seconds (10), --warm-up-seconds
 * (3), --connections (256), --poll-ms, --seed, --target-queryable-p50 and --target-queryable-p99 (aims 100 and 250 ms),
 * --target-wait-p50 and --target-wait-p99 (aims 60 and 200 ms): exit code 1 when one is exceeded; --out.
 */
const { values } = parseArgs({
  options: {
    cases: { type: 'string', default: '20000x10,100000x100,20000x10-wait' },
    seconds: { type: 'string', default: '10' },
    'warm-up-seconds': { type: 'string', default: '3' },
    connections: { type: 'string', default: '256' },
    'poll-ms': { type: 'string', default: '20' },
    seed: { type: 'string', default: '20260101' },
    'target-queryable-p50': { type: 'string' },
    'target-queryable-p99': { type: 'string' },
    'target-wait-p50': { type: 'string' },
    'target-wait-p99': { type: 'string' },
    out: { type: 'string', default: 'benchmarks/results/events-latency.json' },
  },
})

const header = ['events/s', 'a body', 'requests/s', 'from due time to', 'p50 ms', 'p99 ms', 'max ms', 'refused']

await main()

async function main(): Promise<void> {
  const environment = benchEnvironment()
  const cases = values.cases.split(',').map(caseNamed)
  const options: LatencyOptions = {
    durationMs: Number(values.seconds) * 1_000,
    warmUpMs: Number(values['warm-up-seconds']) * 1_000,
    connectionCount: Number(values.connections),
    pollIntervalMs: Number(values['poll-ms']),
    seed: Number(values.seed),
  }
  const sender = startEventsSendingProcess()
  const results: LatencyResult[] = []
  try {
    for (const latencyCase of cases) results.push(await measureFresh(sender, latencyCase, options))
  } finally {
    await sender.close()
  }
  console.log(`\n${describeEnvironment(environment)}\n\n${latencyTable(results)}\n`)
  const result = { question: 'events-latency', ...environment, options, results }
  console.log(`written to ${writeResult(values.out, result)}`)
  for (const latencyResult of results) reportTargets(latencyResult)
}

/** A fresh service for each case: none has to do with what the one before left to merge. */
async function measureFresh(
  sender: EventsSendingProcess,
  latencyCase: LatencyCase,
  options: LatencyOptions,
): Promise<LatencyResult> {
  console.log(`${titleOf(latencyCase)}: ${values.seconds} s and ${values['warm-up-seconds']} s to warm up`)
  const directory = await mkdtemp(join(tmpdir(), 'millrace-bench-'))
  try {
    const service = await startServiceProcess({ directory })
    try {
      return await measureLatency({ service, sender }, latencyCase, options)
    } finally {
      await service.close()
    }
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

function caseNamed(name: string): LatencyCase {
  const [, eventsPerSecond, eventsPerBody, wait] = /^(\d+)x(\d+)(-wait)?$/.exec(name) ?? []
  if (eventsPerSecond === undefined || eventsPerBody === undefined) throw new Error(`no case ${name}: like 20000x10`)
  return {
    eventsPerSecond: Number(eventsPerSecond),
    eventsPerBody: Number(eventsPerBody),
    isWaiting: wait !== undefined,
  }
}

function titleOf({ eventsPerSecond, eventsPerBody, isWaiting }: LatencyCase): string {
  return `${eventsPerSecond} events/s in bodies of ${eventsPerBody}${isWaiting ? ', wait=true' : ''}`
}

function latencyTable(results: readonly LatencyResult[]): string {
  const rows = results.flatMap((result) => [
    lineOf(result, 'sent', result.lateMs),
    lineOf(result, result.isWaiting ? 'answer 200 (wait=true: stored)' : 'answer 202 (on disk)', result.answerMs),
    ...(result.queryableMs === null ? [] : [lineOf(result, 'queryable', result.queryableMs)]),
  ])
  return `${textTable(header, rows)}

All times count from when a body was due. Queryable is told by a query every ${values['poll-ms']} ms, too late by at most that and the
query's own time. Processor: ${results.map(shares).join('; ')}.`
}

function shares({ serviceCpuShare, senderCpuShare }: LatencyResult): string {
  return `service ${Math.round(serviceCpuShare * 100)} %, sender ${Math.round(senderCpuShare * 100)} %`
}

function lineOf(result: LatencyResult, what: string, { p50, p99, max }: Percentiles): readonly string[] {
  return [
    result.eventsPerSecond.toString(),
    result.eventsPerBody.toString(),
    result.bodiesPerSecond.toString(),
    what,
    ...[p50, p99, max].map((value) => value.toFixed(1)),
    result.refusedCount.toString(),
  ]
}

function reportTargets(result: LatencyResult): void {
  const title = titleOf(result)
  if (result.isWaiting) {
    report(`${title}, answer p50`, result.answerMs.p50, values['target-wait-p50'])
    report(`${title}, answer p99`, result.answerMs.p99, values['target-wait-p99'])
  }
  if (result.queryableMs !== null) {
    report(`${title}, queryable p50`, result.queryableMs.p50, values['target-queryable-p50'])
    report(`${title}, queryable p99`, result.queryableMs.p99, values['target-queryable-p99'])
  }
  report(`${title}, refused`, result.refusedCount, '0')
}

function report(title: string, value: number, target: string | undefined): void {
  if (target === undefined) return
  const isMet = value <= Number(target)
  console.log(`${title}: ${value.toFixed(1)}, target ${target}: ${isMet ? 'met' : 'MISSED'}`)
  if (!isMet) process.exitCode = 1
}
