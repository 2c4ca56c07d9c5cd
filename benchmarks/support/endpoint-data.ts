import { SeededRandom } from '../../test/support/seeded-random.ts'
import { pipeBodies } from './endpoint-cases.ts'
import { createEventsTable, eventsTable } from './events-receivers.ts'
import { createServiceClient } from './service-client.ts'
import type { ServiceProcess } from './service-process.ts'
import { workloads } from './workloads.ts'

const bodyRows = 250_000

/** Makes the table of events and the published pipes over it that `endpointCases` asks; gives the table's id. */
export async function fillEndpointData(
  { url, adminToken }: ServiceProcess,
  { rowCount, seed }: { readonly rowCount: number; readonly seed: number },
): Promise<string> {
  const client = createServiceClient(url, adminToken)
  await createEventsTable(client, '')
  const random = new SeededRandom(seed)
  for (let row = 0; row < rowCount; row += bodyRows) {
    const count = Math.min(bodyRows, rowCount - row)
    const lines = Array.from({ length: count }, (_, index) => workloads.events.row(random, row + index, false).csv)
    const { error } = await client.append(
      eventsTable,
      'csv',
      Buffer.from(`${workloads.events.csvHeader}\n${lines.join('\n')}\n`),
    )
    if (error !== false) throw new Error(`the table could not be filled: ${error}`)
  }
  const headers = { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' }
  for (const body of pipeBodies) {
    const created = await fetch(`${url}/v0/pipes`, { method: 'POST', headers, body: JSON.stringify(body) })
    if (!created.ok) throw new Error(`a pipe could not be made: ${await created.text()}`)
    const published = `${url}/v0/pipes/${body.name}/nodes/${body.nodes.at(-1)?.name}/endpoint`
    const answer = await fetch(published, { method: 'POST', headers })
    if (!answer.ok) throw new Error(`a pipe could not be published: ${await answer.text()}`)
  }
  const answer = await fetch(`${url}/v0/datasources/${eventsTable}`, { headers })
  // The shape of the answer is what the tests of the API check.
  return ((await answer.json()) as { readonly id: string }).id
}
