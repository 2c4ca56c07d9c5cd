import { Agent, get, type IncomingMessage } from 'node:http'
import type { AskingReport, AskingTask } from './endpoint-asker.types.ts'

/** The process of the clients: each asks for the next answer when it has read the one before, on a connection of its own. */
process.on('message', (task: AskingTask) => {
  ask(task).then(
    (report) => process.send?.(report),
    (error: unknown) => {
      console.error(error)
      process.exit(1)
    },
  )
})
process.on('disconnect', () => process.exit(0))

async function ask({ url, adminToken, paths, clientCount, durationMs }: AskingTask): Promise<AskingReport> {
  const agent = new Agent({ keepAlive: true, maxSockets: clientCount })
  const report = { timesMs: [] as number[], resolveMs: [] as number[], engineMs: [] as number[] }
  const end = performance.now() + durationMs
  let asked = 0
  const loop = async (): Promise<void> => {
    for (let start = performance.now(); start < end; start = performance.now()) {
      const path = paths[asked % paths.length] ?? ''
      asked += 1
      const timing = await askOnce(`${url}${path}`, adminToken, agent)
      report.timesMs.push(performance.now() - start)
      report.resolveMs.push(Number(/resolve;dur=([\d.]+)/.exec(timing)?.[1]))
      report.engineMs.push(Number(/engine;dur=([\d.]+)/.exec(timing)?.[1]))
    }
  }
  await Promise.all(Array.from({ length: clientCount }, loop))
  agent.destroy()
  return report
}

/** The header Server-Timing of an answer that was read to its end. */
function askOnce(url: string, adminToken: string, agent: Agent): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${adminToken}` }
    const request = get(url, { agent, headers }, (response: IncomingMessage) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        if (response.statusCode === 200) resolve(String(response.headers['server-timing']))
        else
          reject(new Error(`${url} answered ${response.statusCode}: ${Buffer.concat(chunks).toString().slice(0, 500)}`))
      })
    })
    request.on('error', reject)
  })
}
