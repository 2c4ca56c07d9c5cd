import { SeededRandom } from '../../test/support/seeded-random.ts'
import { createEventsTable, eventsTable } from './event-receivers.ts'
import type { ServiceProcess } from './processes.ts'
import { createServiceClient } from './service-client.ts'
import { type BodyPlan, bodyPieces } from './workloads.ts'

/** One endpoint, asked with values that change. */
export interface EndpointCase {
  readonly name: string
  /** Of the requests. */
  readonly paths: readonly string[]
  /** What the engine is given for the same values, in the same order. */
  readonly queries: readonly string[]
}

interface PipeBody {
  readonly name: string
  readonly nodes: readonly { readonly name: string; readonly sql: string }[]
}

const byUser = `%
SELECT path, n, v FROM ${eventsTable}
WHERE user = {{String(user)}} {% if defined(since) %} AND ts >= {{DateTime(since)}} {% end %}`
const byRange = `%
SELECT * FROM ${eventsTable} WHERE user >= {{String(first)}} AND user < {{String(last)}}`

/** Pipes of two or three nodes; the last of each is its endpoint. */
const pipeBodies: readonly PipeBody[] = [
  {
    name: 'one_user',
    nodes: [
      { name: 'chosen', sql: byUser },
      {
        name: 'endpoint',
        sql: '%\nSELECT path, count() AS hits, sum(n) AS total FROM chosen GROUP BY path ORDER BY hits DESC, path LIMIT {{Int32(limit, 10)}}',
      },
    ],
  },
  {
    name: 'many_users',
    nodes: [
      { name: 'ranged', sql: byRange },
      { name: 'by_path', sql: 'SELECT path, count() AS hits, avg(v) AS mean FROM ranged GROUP BY path' },
      { name: 'endpoint_many', sql: 'SELECT * FROM by_path ORDER BY hits DESC, path LIMIT 20' },
    ],
  },
  {
    name: 'everything',
    nodes: [
      {
        name: 'endpoint_all',
        sql: `%\nSELECT path, count() AS hits, max(v) AS most FROM ${eventsTable} WHERE n >= {{UInt32(least, 0)}} GROUP BY path ORDER BY path`,
      },
    ],
  },
]

const valuesPerCase = 200

/** The cases in the order of `pipeBodies`. */
export function endpointCases(tableId: string, seed: number): readonly EndpointCase[] {
  const random = new SeededRandom(seed)
  const table = `\`ws_0001\`.\`${tableId}\` AS \`${eventsTable}\``
  const users = Array.from({ length: valuesPerCase }, () => `u${random.below(10_000)}`)
  const ranges = Array.from({ length: valuesPerCase }, () => {
    const first = 1_000 + random.below(8_000)
    return [`u${first}`, `u${first + 100}`] as const
  })
  const leasts = Array.from({ length: valuesPerCase }, () => random.below(50_000))
  const chosen = (user: string) => `(SELECT path, n, v FROM ${table} WHERE user = '${user}') AS \`chosen\``
  const ranged = (first: string, last: string) =>
    `(SELECT * FROM ${table} WHERE user >= '${first}' AND user < '${last}') AS \`ranged\``
  return [
    {
      name: 'one user, about 500 rows',
      paths: users.map((user) => `/v0/pipes/one_user.json?user=${user}`),
      queries: users.map(
        (user) =>
          `SELECT path, count() AS hits, sum(n) AS total FROM ${chosen(user)} GROUP BY path ORDER BY hits DESC, path LIMIT toInt32('10')`,
      ),
    },
    {
      name: 'some users, about 50,000 rows',
      paths: ranges.map(([first, last]) => `/v0/pipes/many_users.json?first=${first}&last=${last}`),
      queries: ranges.map(
        ([first, last]) =>
          `SELECT * FROM (SELECT path, count() AS hits, avg(v) AS mean FROM ${ranged(first, last)} GROUP BY path) AS \`by_path\` ORDER BY hits DESC, path LIMIT 20`,
      ),
    },
    {
      name: 'all rows',
      paths: leasts.map((least) => `/v0/pipes/everything.json?least=${least}`),
      queries: leasts.map(
        (least) =>
          `SELECT path, count() AS hits, max(v) AS most FROM ${table} WHERE n >= toUInt32('${least}') GROUP BY path ORDER BY path`,
      ),
    },
  ]
}

/** Makes the table of events and the published pipes over it that `endpointCases` asks; gives the table's id. */
export async function fillEndpointData(
  service: ServiceProcess,
  plan: Pick<BodyPlan, 'rowCount' | 'seed'>,
): Promise<string> {
  const client = createServiceClient(service)
  await createEventsTable(client)
  const pieces = bodyPieces({ ...plan, workload: 'events', format: 'ndjson', badEvery: null })
  for (let bytes = takeBytes(pieces); bytes.length > 0; bytes = takeBytes(pieces)) {
    const { error } = await client.append(eventsTable, 'ndjson', bytes)
    if (error !== false) throw new Error(`the table could not be filled: ${error}`)
  }
  for (const body of pipeBodies) {
    await client.call('POST', '/v0/pipes', JSON.stringify(body))
    await client.call('POST', `/v0/pipes/${body.name}/nodes/${body.nodes.at(-1)?.name}/endpoint`)
  }
  const answer = await client.call('GET', `/v0/datasources/${eventsTable}`)
  return (JSON.parse(answer) as { readonly id: string }).id // The tests of the API check its shape.
}

/** About as much as one import is to take. */
function takeBytes(pieces: Iterator<Buffer>): string {
  const taken: Buffer[] = []
  while (taken.length < 32) {
    const { value, done } = pieces.next()
    if (done === true) break
    taken.push(value)
  }
  return Buffer.concat(taken).toString()
}
