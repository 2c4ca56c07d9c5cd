// What runs as jobs, with the files that these leave.

import { join } from 'node:path'
import type { Access } from './access/access.ts'
import type { Warrant } from './access/warrant.types.ts'
import type { Options } from './config.ts'
import type { DataSources } from './datasources/datasources.types.ts'
import { createRowDeleteJobs } from './datasources/row-delete/row-delete-job.ts'
import type { UrlImports } from './imports/url-jobs/url-import.types.ts'
import { createOrderSeal } from './job-order-seal.ts'
import { type JobFiles, type JobFilesDeps, openJobFiles } from './jobs/job-files.ts'
import type { PopulateService } from './materialize/populate/populates.ts'
import { type ImportsByUrlDeps, openImportsByUrl } from './open-url-imports.ts'
import type { Query } from './query/query.types.ts'
import { createQueryJobs, type QueryJobs } from './query/query-job.ts'
import { kibibyte } from './shared/bytes.ts'

interface JobKindsDeps extends Pick<JobFilesDeps, 'disk'>, ImportsByUrlDeps {
  readonly access: Access
  readonly dataSources: DataSources
  readonly populates: Pick<PopulateService, 'jobKind'>
  readonly query: Pick<Query, 'run'>
}

export interface JobKinds {
  /** What jobs have left. */
  readonly jobFiles: JobFiles
  readonly queryJobs: QueryJobs<Warrant>
  readonly urlImports: UrlImports
  close(): Promise<void>
}

const filesName = 'job-results'
const hourMs = 3_600_000
/** A job whose result is kept is not forgotten, so that results are bounded in number too. */
const fileBytesMin = 64 * kibibyte

/** Registers all kinds of jobs. Precondition: the jobs are not started. */
export async function openJobKinds(options: Options, deps: JobKindsDeps): Promise<JobKinds> {
  const { access, jobs, dataSources, query, disk, logger } = deps
  const { dataDir, jobResultsBytesMax: bytesMax, jobResultHoursMax, readSessions } = options
  const now = Date.now
  const files = await openJobFiles(
    {
      ...{ directory: join(dataDir, filesName), keptMs: jobResultHoursMax * hourMs, now },
      ...{ bytesMax, bytesPerOwnerMax: options.jobResultsBytesPerTokenMax, fileBytesMin },
    },
    { disk, logger, ownerOf: (id) => jobs.find(id)?.owner.tokenId },
  )
  // One session stays free for queries that somebody waits for.
  const sessionsMax = Math.max(1, readSessions - 1)
  const queryJobsWorkingMax = Math.min(options.queryJobsWorkingMax, sessionsMax)
  const queryJobOptions = { ...options, queryJobsWorkingMax, hasGuestPlace: queryJobsWorkingMax < sessionsMax }
  const readScopeFor = (warrant: Parameters<Access['readScopeFor']>[0]) => access.readScopeFor(warrant, 'sql:read')
  const queryJobs = createQueryJobs(queryJobOptions, { query, files, readScopeFor, seal: createOrderSeal(deps.box) })
  jobs.register(queryJobs.kind)
  jobs.register(createRowDeleteJobs(options, dataSources))
  jobs.register(deps.populates.jobKind)
  const { urlImports, remoteFiles } = await openImportsByUrl(options, deps)
  return {
    jobFiles: files,
    queryJobs,
    urlImports,
    async close() {
      await remoteFiles.close()
      files.close()
    },
  }
}
