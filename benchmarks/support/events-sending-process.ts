import { fileURLToPath } from 'node:url'
import { assert } from '../../src/shared/assert.ts'
import { startTaskChild } from './child-tasks.ts'
import type { ClosedTask, EventsReport, EventsTask, OpenTask, PacedEvents, SentEvents } from './events-sender.types.ts'

/** The other end of `events-sender.ts`. Both reject when an answer is neither the expected one nor a 503. */
export interface EventsSendingProcess {
  sendClosed(task: Omit<ClosedTask, 'kind'>): Promise<SentEvents>
  sendPaced(task: Omit<OpenTask, 'kind'>): Promise<PacedEvents>
  close(): Promise<void>
}

/** Starts the process that sends events. It ends with this one. */
export function startEventsSendingProcess(): EventsSendingProcess {
  const child = startTaskChild<EventsTask, EventsReport>(fileURLToPath(import.meta.resolve('./events-sender.js')))
  const ask = async (task: EventsTask): Promise<Exclude<EventsReport, { kind: 'failed' }>> => {
    const report = await child.ask(task)
    if (report.kind === 'failed')
      throw new Error(`sending to ${task.target.url.slice(0, 200)} failed: ${report.message}`)
    return report
  }
  return {
    sendClosed: async (task) => {
      const report = await ask({ kind: 'closed', ...task })
      assert(report.kind === 'closed', 'a closed loop is reported as one')
      return report.sent
    },
    sendPaced: async (task) => {
      const report = await ask({ kind: 'open', ...task })
      assert(report.kind === 'open', 'an open loop is reported as one')
      return report.sent
    },
    close: () => child.close(),
  }
}
