// What a comparison asks of a ClickHouse server, through its official client; bodies are sent by the process that sends all.

import { type ClickHouseClient, createClient } from '@clickhouse/client'
import type { SenderRequest } from './body-sender.types.ts'

/** A client without idle connections: nobody needs to close it. */
export function clickHouseAt(url: string): ClickHouseClient {
  return createClient({ url, keep_alive: { enabled: false } })
}

export async function runCommand(client: ClickHouseClient, query: string): Promise<void> {
  await client.command({ query })
}

export async function rowsOf<Row>(client: ClickHouseClient, query: string): Promise<readonly Row[]> {
  const result = await client.query({ query, format: 'JSONEachRow' })
  return await result.json<Row>()
}

/** The request that inserts a body, for whoever sends it. */
export function insertRequest(url: string, insert: string, settings: Readonly<Record<string, string>>): SenderRequest {
  return { url: `${url}/?${new URLSearchParams({ query: insert, ...settings })}`, headers: {} }
}
