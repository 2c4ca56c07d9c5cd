import { join } from 'node:path'
import { Session } from 'chdb'
import { serveFunctions } from './remote-functions.ts'

// The process that holds the engine and nothing around it.

/** Queries for as many sessions, each of which asks for its next answer when it has the one before. */
export interface EngineTask {
  /** The service's data directory; no service may have it open. */
  readonly directory: string
  /** Asked in turn: the SQL that the service would give to the engine. */
  readonly queries: readonly string[]
  readonly clientCount: number
  readonly durationMs: number
}

const sessions: Session[] = []

const functions = { open, run, timeQueries }
export type EngineAlone = typeof functions
serveFunctions(functions)
process.on('exit', () => {
  for (const session of sessions) session.close()
})

/** Opens an engine on a directory of its own. */
function open({ directory, settings }: { readonly directory: string; readonly settings: string }): void {
  const session = new Session(directory)
  if (settings !== '') session.query(`SET ${settings}`)
  sessions.push(session)
}

/** The answer as text. Synchronous on purpose: a process whose statement does not end is killed. */
function run(sql: string): string {
  return String(sessions[0]?.query(sql))
}

/** The times of the answers, in milliseconds; JSON is kept in memory, and one thread computes each, as for endpoints. */
async function timeQueries({ directory, queries, clientCount, durationMs }: EngineTask): Promise<readonly number[]> {
  const connectionArgs = [`--config-file=${join(directory, 'engine', 'engine.xml')}`]
  while (sessions.length < clientCount) sessions.push(new Session(join(directory, 'clickhouse'), { connectionArgs }))
  const timesMs: number[] = []
  const end = performance.now() + durationMs
  let asked = 0
  const loop = async (session: Session): Promise<void> => {
    for (let start = performance.now(); start < end; start = performance.now()) {
      const query = queries[asked % queries.length] ?? ''
      asked += 1
      const result = await session.queryAsync(`${query}\nFORMAT JSON\nSETTINGS max_threads = 1`)
      result.bytes()
      timesMs.push(performance.now() - start)
    }
  }
  await Promise.all(sessions.slice(0, clientCount).map(loop))
  return timesMs
}
