import { readyRequests } from './events-bodies.ts'
import { sendInClosedLoop, sendInOpenLoop } from './events-loops.ts'
import type { EventsReport, EventsTask } from './events-sender.types.ts'

/**
 * The process that sends events: bytes made beforehand over bare sockets, so that it takes as little as possible of the
 * cores that it shares with the receiver. It takes one `EventsTask` at a time over the channel to its parent.
 */
process.on('message', (task: EventsTask) => {
  perform(task).then(report, (error: unknown) => report({ kind: 'failed', message: String(error) }))
})
process.on('disconnect', () => process.exit(0))

function report(message: EventsReport): void {
  process.send?.(message)
}

async function perform(task: EventsTask): Promise<EventsReport> {
  const requests = readyRequests(task.plan, task.target)
  switch (task.kind) {
    case 'closed':
      return { kind: 'closed', sent: await sendInClosedLoop(task, requests) }
    case 'open':
      return { kind: 'open', sent: await sendInOpenLoop(task, requests) }
  }
}
