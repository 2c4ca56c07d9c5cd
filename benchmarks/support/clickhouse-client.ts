import type { SenderRequest } from './body-sender.types.ts'

/** ClickHouse's HTTP interface, as far as a comparison needs it. */
export interface ClickHouseClient {
  command(sql: string): Promise<void>
  text(sql: string): Promise<string>
  rows<Row>(sql: string): Promise<readonly Row[]>
  /** The request that inserts a body, for whoever sends it. */
  insertRequest(insert: string, settings: Readonly<Record<string, string>>): SenderRequest
}

export function createClickHouseClient(url: string): ClickHouseClient {
  const text = async (sql: string): Promise<string> => {
    const response = await fetch(url, { method: 'POST', body: sql })
    const answer = await response.text()
    if (!response.ok) throw new Error(`${sql.slice(0, 80)}: ${answer.slice(0, 2_000)}`)
    return answer
  }
  return {
    command: async (sql) => {
      await text(sql)
    },
    text,
    rows: async <Row>(sql: string) => {
      const answer = JSON.parse(await text(`${sql} FORMAT JSON`)) as { data: readonly Row[] } // The engine's JSON format.
      return answer.data
    },
    insertRequest: (insert, settings) => ({
      url: `${url}/?${new URLSearchParams({ query: insert, ...settings })}`,
      headers: {},
    }),
  }
}
