import { join } from 'node:path'
import { Session } from 'chdb'
import type { EngineReport, EngineTask } from './engine-time.types.ts'

/**
 * The process that tells what the engine itself takes for a query: sessions on the service's data, each asking for its
 * next answer when it has the one before, and nothing around them. Queries are the same text that the service would send,
 * JSON is kept in memory, and one thread computes each, as for endpoints.
 */
process.on('message', (task: EngineTask) => {
  measure(task).then(
    (report) => process.send?.(report),
    (error: unknown) => {
      console.error(error)
      process.exit(1)
    },
  )
})
process.on('disconnect', () => {
  for (const session of sessions) session.close()
  process.exit(0)
})

const sessions: Session[] = []

async function measure({ directory, queries, clientCount, durationMs }: EngineTask): Promise<EngineReport> {
  const connectionArgs = [`--config-file=${join(directory, 'engine', 'engine.xml')}`]
  while (sessions.length < clientCount) sessions.push(new Session(join(directory, 'clickhouse'), { connectionArgs }))
  return { timesMs: await ask(sessions.slice(0, clientCount), queries, durationMs) }
}

async function ask(sessions: readonly Session[], queries: readonly string[], durationMs: number): Promise<number[]> {
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
  await Promise.all(sessions.map(loop))
  return timesMs
}
