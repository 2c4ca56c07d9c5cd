import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startTaskChild, type TaskChild } from './child-tasks.ts'
import type { AskingReport, AskingTask } from './endpoint-asker.types.ts'
import { endpointCases } from './endpoint-cases.ts'
import { fillEndpointData } from './endpoint-data.ts'
import type { EventsCase } from './events-case.types.ts'
import { type EventsSendingProcess, startEventsSendingProcess } from './events-sending-process.ts'
import { type SendingProcess, startSendingProcess } from './sending-process.ts'
import { createServiceClient, parseImportResult, type ServiceClient } from './service-client.ts'
import { startServiceProcess } from './service-process.ts'
import type { WorkloadName } from './workload.types.ts'
import { type BodyPlan, badRowCount } from './workload-bytes.ts'
import { workloads } from './workloads.ts'

/** One measurement that both builds take in turn; greater is better. */
export interface PairedCase {
  readonly name: string
  readonly unit: string
  measure(build: Build): Promise<number>
}

/** The running service of one checkout. */
export interface Build {
  readonly url: string
  readonly adminToken: string
  readonly client: ServiceClient
  close(): Promise<void>
}

export interface Senders {
  readonly directory: string
  readonly bodies: SendingProcess
  readonly events: EventsSendingProcess
  readonly asker: TaskChild<AskingTask, AskingReport>
  close(): Promise<void>
}

const seed = 20_260_101
const endpointRows = 1_000_000
const importRows = 1_000_000
/** One row of so many is bad in the cases with bad rows. */
const badEvery = 100
const eventsMs = 2_500
const askingMs = 2_000
const pairedTable = 'paired'

/** Starts the service that is built in `root` (this checkout by default), and fills what the endpoints read. */
export async function openBuild(options: { readonly directory: string; readonly root?: string }): Promise<Build> {
  const service = await startServiceProcess(options)
  await fillEndpointData(service, { rowCount: endpointRows, seed })
  const { url, adminToken } = service
  return { url, adminToken, client: createServiceClient(url, adminToken), close: () => service.close() }
}

/** The processes that send and ask; bodies are written to `directory`. */
export function openSenders(directory: string): Senders {
  const bodies = startSendingProcess()
  const events = startEventsSendingProcess()
  const asker = startTaskChild<AskingTask, AskingReport>(fileURLToPath(import.meta.resolve('./endpoint-asker.js')))
  const close = async () => {
    await Promise.all([bodies.close(), events.close(), asker.close()])
  }
  return { directory, bodies, events, asker, close }
}

export function pairedCases(senders: Senders): readonly PairedCase[] {
  // The queries of the engine alone are not asked here, so its table needs no name.
  const [cheapest, some] = endpointCases('', seed)
  return [
    ...[null, badEvery].flatMap((every) => [
      importCase(senders, 'events', { format: 'ndjson', badEvery: every }),
      importCase(senders, 'events', { format: 'csv', badEvery: every }),
      importCase(senders, 'nested', { format: 'ndjson', badEvery: every }),
      importCase(senders, 'nested', { format: 'csv', badEvery: every }),
    ]),
    eventsCase(senders, { name: 'single events', rowsPerBody: 1, bodyCount: 4_096 }),
    eventsCase(senders, { name: 'single events, gzip', rowsPerBody: 1, bodyCount: 4_096, isPacked: true }),
    eventsCase(senders, { name: 'events, 500 a body', rowsPerBody: 500, bodyCount: 128 }),
    endpointCase(senders, 'cheapest endpoint, 1 client', cheapest?.paths ?? [], 1),
    endpointCase(senders, 'cheapest endpoint, 8 clients', cheapest?.paths ?? [], 8),
    endpointCase(senders, 'endpoint over 50,000 rows, 8 clients', some?.paths ?? [], 8),
  ]
}

function importCase(
  senders: Senders,
  workload: WorkloadName,
  { format, badEvery }: Pick<BodyPlan, 'format' | 'badEvery'>,
): PairedCase {
  const name = `import ${workload} ${format}${badEvery === null ? '' : ', bad rows'}`
  const path = join(senders.directory, name)
  const plan = { workload, format, rowCount: importRows, seed, badEvery }
  const badCount = badRowCount(plan)
  let written: Promise<number> | null = null
  return {
    name,
    unit: 'rows/s',
    measure: async ({ client }) => {
      written ??= senders.bodies.write(plan, path)
      await written
      const { schema, sortingKey } = workloads[workload].formats[format]
      await client.createDataSource({ name: pairedTable, schema, format, sortingKey })
      const answer = await senders.bodies.sendFile(path, client.appendRequest(pairedTable, format))
      const { error, quarantine_rows } = parseImportResult(answer.text)
      const [stored] = await client.rows<{ readonly n: number }>(`SELECT toFloat64(count()) AS n FROM ${pairedTable}`)
      const isRight = (error === false) === (badCount === 0) && (quarantine_rows ?? 0) === badCount
      if (!isRight || stored?.n !== importRows - badCount) throw new Error(answer.text)
      await client.dropDataSource(pairedTable)
      return (importRows / answer.elapsedMs) * 1_000
    },
  }
}

function eventsCase(senders: Senders, { name, rowsPerBody, bodyCount, isPacked = false }: EventsCase): PairedCase {
  return {
    name,
    unit: 'requests/s',
    measure: async ({ client }) => {
      const { schema, sortingKey } = workloads.events.formats.ndjson
      await client.createDataSource({ name: pairedTable, schema, format: 'ndjson', sortingKey })
      const sent = await senders.events.sendClosed({
        target: { ...client.eventsRequest(pairedTable, false), status: 202 },
        plan: { rowsPerBody, bodyCount, seed, hasMarkers: false, isPacked },
        connectionCount: 32,
        durationMs: eventsMs,
      })
      await client.dropDataSource(pairedTable)
      return (sent.bodyCount / sent.elapsedMs) * 1_000
    },
  }
}

function endpointCase(senders: Senders, name: string, paths: readonly string[], clientCount: number): PairedCase {
  return {
    name,
    unit: 'answers/s',
    measure: async ({ url, adminToken }) => {
      const { timesMs } = await senders.asker.ask({ url, adminToken, paths, clientCount, durationMs: askingMs })
      return (timesMs.length / askingMs) * 1_000
    },
  }
}
