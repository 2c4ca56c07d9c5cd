import { createDataSourceId } from '../../catalog/data-source-id.ts'
import type { Job, JobKind, Jobs, WorkingJob } from '../../jobs/jobs.types.ts'
import { errors } from '../../shared/errors/errors.ts'
import { ImportProgress } from '../import-progress.ts'
import type { Analysis, Imports, Progress } from '../imports.types.ts'
import type { RemoteFiles } from '../url/remote-file.types.ts'
import { sourceOf } from './remote-source.ts'
import type { AnalyzedOrder, UrlImportRequest, UrlImports } from './url-import.types.ts'
import type { UrlImportLimitOptions } from './url-import-limits.ts'
import { decodeTask, encodeTask, type TaskSeal } from './url-import-record.ts'
import { type UrlImportDeps, UrlImportRun } from './url-import-run.ts'

export interface UrlImportsOptions extends UrlImportLimitOptions {
  /** Imports by URL that work at once; others wait. */
  readonly urlImportsMax: number
}

export interface UrlImportsDeps extends Omit<UrlImportDeps, 'hasWaiting' | 'imports' | 'limits' | 'remoteFiles'> {
  readonly imports: Pick<Imports, 'analyze' | 'check' | 'open'>
  readonly remoteFiles: Pick<RemoteFiles, 'check' | 'open'>
  readonly jobs: Pick<Jobs, 'add' | 'list' | 'register'>
  readonly box: TaskSeal
  /** Epoch milliseconds. */
  readonly now: () => number
}

/** Jobs whose blocks are told beside their counts. */
const watchedJobsMax = 50
/** Dry runs of files at once, each with connections of its own. */
const analysesMax = 8
const retryAfterSeconds = 5
const kindName = 'import'

/** Makes imports by URL known to `jobs` as its kind `import`. */
export function openUrlImports(options: UrlImportsOptions, deps: UrlImportsDeps): UrlImports {
  const imports = new OpenUrlImports(options, deps)
  deps.jobs.register(imports.kind(options.urlImportsMax))
  return imports
}

class OpenUrlImports implements UrlImports {
  readonly #limits: UrlImportLimitOptions
  readonly #deps: UrlImportsDeps
  /** By job, the last ones. */
  readonly #progress = new Map<string, ImportProgress>()
  #analysisCount = 0

  constructor(limits: UrlImportLimitOptions, deps: UrlImportsDeps) {
    this.#limits = limits
    this.#deps = deps
  }

  kind(workingMax: number): JobKind {
    return {
      name: kindName,
      workingMax,
      isCancellableWhileWorking: true,
      canResume: true,
      run: async (job) => await this.#runOf(job).run(),
      // A replace begins anew each time.
      mayYield: ({ order }) => decodeTask(order, this.#deps.box).order.mode !== 'replace',
      settle: async (job) => await this.#runOf(job).settle(),
      forget: async (id) => {
        this.#progress.delete(id)
      },
    }
  }

  async add({ urls, order, requireTarget, mayCreate, owner, logFields }: UrlImportRequest): Promise<Job> {
    const { imports, remoteFiles, jobs, box } = this.#deps
    for (const url of urls) remoteFiles.check(url)
    const target = await imports.check(order)
    if (target !== null) requireTarget(target.id)
    const newId = createDataSourceId()
    // A data source that is there may get another name before the job begins.
    const named = target === null ? order : { ...order, name: target.id }
    const subject = target === null ? null : ({ kind: 'datasource', id: target.id, name: target.name } as const)
    const task = encodeTask({ urls, order: named, mayCreate, newId }, box)
    return await jobs.add({ kind: kindName, owner, subject, order: task, logFields })
  }

  async analyze(url: string, order: AnalyzedOrder, signal: AbortSignal): Promise<Analysis> {
    if (this.#analysisCount >= analysesMax) throw errors.BODIES_TOO_MANY({ retryAfterSeconds })
    this.#analysisCount += 1
    try {
      return await this.#analyze(url, order, signal)
    } finally {
      this.#analysisCount -= 1
    }
  }

  async #analyze(url: string, order: AnalyzedOrder, signal: AbortSignal): Promise<Analysis> {
    const { imports, remoteFiles } = this.#deps
    const file = await remoteFiles.open(url, { signal })
    const source = sourceOf(file)
    try {
      return await imports.analyze({ ...order, source, unknownFormat: 'as imported', signal })
    } finally {
      source.body.close()
      await file.close()
    }
  }

  progressOf(jobId: string): Progress | undefined {
    return this.#progress.get(jobId)
  }

  #runOf(job: WorkingJob): UrlImportRun {
    const task = decodeTask(job.order, this.#deps.box)
    const progress = new ImportProgress('reports', this.#deps.now, { countsAll: false })
    this.#watch(job.id, progress)
    const hasWaiting = (): boolean => this.#deps.jobs.list({ kinds: [kindName], statuses: ['waiting'] }).length > 0
    return new UrlImportRun(job, { task, progress }, { ...this.#deps, limits: this.#limits, hasWaiting })
  }

  #watch(id: string, progress: ImportProgress): void {
    this.#progress.set(id, progress)
    for (const oldest of this.#progress.keys()) {
      if (this.#progress.size <= watchedJobsMax) return
      this.#progress.delete(oldest)
    }
  }
}
