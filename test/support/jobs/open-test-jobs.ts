import type { Test } from 'tap'
import type { JobKind, Jobs } from '../../../src/jobs/jobs.types.ts'
import { type JobsOptions, openJobs } from '../../../src/jobs/open-jobs.ts'
import type { WorkRecorder } from '../../../src/observe/work-recorder.types.ts'
import type { RecordStorage } from '../../../src/storage/storage.types.ts'
import { TestLog } from '../api/test-service.ts'
import { MemoryStorage } from '../storage/memory-storage.ts'

export interface TestJobsSetup {
  readonly kinds?: readonly JobKind[]
  readonly storage?: RecordStorage
  readonly options?: Partial<JobsOptions>
  readonly now?: () => number
  readonly workRecorder?: WorkRecorder
}

export interface TestJobs {
  readonly jobs: Jobs
  readonly log: TestLog
}

/** Jobs that have not started, told of as often as they change. The test's end closes them. */
export async function openTestJobs(
  t: Test,
  { kinds = [], storage = new MemoryStorage(), options = {}, now = () => 1_000, workRecorder }: TestJobsSetup = {},
): Promise<TestJobs> {
  const log = new TestLog()
  const jobs = await openJobs(
    {
      ...{ jobsWaitingMax: 1_000, jobsWaitingPerTokenMax: 1_000, jobsKeptMax: 10_000 },
      ...{ tellIntervalMs: 0, retryMs: 1, readAheadDelayMs: 0, ...options },
    },
    { storage, logger: log, now, workRecorder },
  )
  for (const kind of kinds) jobs.register(kind)
  t.teardown(() => jobs.close(1_000))
  return { jobs, log }
}

/** The same, at work. */
export async function startTestJobs(t: Test, setup: TestJobsSetup = {}): Promise<TestJobs> {
  const opened = await openTestJobs(t, setup)
  await opened.jobs.start()
  return opened
}
