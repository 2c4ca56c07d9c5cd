import { Agent, get, type IncomingMessage } from 'node:http'
import { serveFunctions } from './remote-functions.ts'
import { sendFile, sendRepeated, writeBody } from './send-body.ts'
import { sendClosed, sendPaced } from './send-events.ts'

// The process that sends bodies and events and asks endpoints, so that none of its work is counted as the receiver's.

/** What the clients of endpoints are to ask. */
export interface AskingTask {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Paths with their query, asked in turn. */
  readonly paths: readonly string[]
  /** Each asks for the next answer when it has read the one before, on a connection of its own. */
  readonly clientCount: number
  readonly durationMs: number
}

/** Milliseconds of each answer, and what its header Server-Timing says. */
export interface AskedTimes {
  readonly answerMs: readonly number[]
  readonly resolveMs: readonly number[]
  readonly storeMs: readonly number[]
}

const functions = { askEndpoints, sendClosed, sendFile, sendPaced, sendRepeated, writeBody }
export type LoadGenerator = typeof functions
serveFunctions(functions)

async function askEndpoints({ url, headers, paths, clientCount, durationMs }: AskingTask): Promise<AskedTimes> {
  const agent = new Agent({ keepAlive: true, maxSockets: clientCount })
  const times = { answerMs: [] as number[], resolveMs: [] as number[], storeMs: [] as number[] }
  const end = performance.now() + durationMs
  let asked = 0
  const loop = async (): Promise<void> => {
    for (let start = performance.now(); start < end; start = performance.now()) {
      const path = paths[asked % paths.length] ?? ''
      asked += 1
      const timing = await askOnce(`${url}${path}`, headers, agent)
      times.answerMs.push(performance.now() - start)
      times.resolveMs.push(Number(/resolve;dur=([\d.]+)/.exec(timing)?.[1]))
      times.storeMs.push(Number(/engine;dur=([\d.]+)/.exec(timing)?.[1]))
    }
  }
  await Promise.all(Array.from({ length: clientCount }, loop))
  agent.destroy()
  return times
}

/** The header Server-Timing of an answer that was read to its end. */
async function askOnce(url: string, headers: AskingTask['headers'], agent: Agent): Promise<string> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get(url, { agent, headers }, resolve).on('error', reject)
  })
  const text = Buffer.concat(await response.toArray()).toString()
  if (response.statusCode !== 200) throw new Error(`${url} answered ${response.statusCode}: ${text.slice(0, 500)}`)
  return String(response.headers['server-timing'])
}
