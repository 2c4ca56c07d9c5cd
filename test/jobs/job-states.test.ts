import t from 'tap'
import { isFinal, type JobEvent, jobStatuses, nextStatus } from '../../src/jobs/job-states.ts'
import type { JobStatus } from '../../src/jobs/jobs.types.ts'

/** The table of the specification: what is not in it changes nothing. */
const table: Readonly<Record<string, JobStatus>> = {
  'waiting start': 'working',
  'waiting cancel': 'cancelled',
  'working succeed': 'done',
  'working fail': 'error',
  'working cancel': 'cancelling',
  'cancelling succeed': 'cancelled',
  'cancelling fail': 'cancelled',
}

t.test('each state goes where the specification says, by each event, and nowhere else', async (t) => {
  const events: readonly JobEvent[] = ['start', 'succeed', 'fail', 'cancel']
  for (const status of jobStatuses) {
    for (const event of events) {
      t.equal(nextStatus(status, event), table[`${status} ${event}`] ?? null, `${status}, ${event}`)
    }
  }
})

t.test('done, error and cancelled are final', async (t) => {
  t.same(
    jobStatuses.filter((status) => isFinal(status)),
    ['done', 'error', 'cancelled'],
  )
})
