import t from 'tap'
import type { Job } from '../../src/jobs/jobs.types.ts'
import { tellJob } from '../../src/jobs/told-jobs.ts'
import type { OperationRecord } from '../../src/observe/work-recorder.types.ts'
import { noRecorder } from '../../src/observe/work-recorder.types.ts'

const populate: Job = {
  ...{ id: 'one', kind: 'populateview', status: 'working', owner: { tokenId: null, tokenName: '' } },
  subject: { kind: 'datasource', id: 't_1', name: 'sums' },
  ...{ createdAtMs: 0, updatedAtMs: 0, startedAtMs: 0, isCancellable: true, errors: [], errorQuotes: [] },
  details: { rowsRead: 700 },
}

function rowsTold(job: Job): readonly (number | undefined)[] {
  const told: OperationRecord[] = []
  tellJob(job, null, { ...noRecorder, isOn: true, operation: (record) => told.push(record) })
  return told.map(({ rows }) => rows)
}

t.test('a populate whose rows come all at once at its end has brought none before', async (t) => {
  const exchange = { ...populate, details: { rowsRead: 700, isExchange: true } }
  for (const status of ['cancelled', 'error'] as const) {
    t.strictSame(rowsTold({ ...populate, status }), [700], `${status}: what it has filled stays`)
    t.strictSame(rowsTold({ ...exchange, status }), [0], `${status}: what it has made goes`)
  }
  t.strictSame(rowsTold({ ...exchange, status: 'done' }), [700])
})
