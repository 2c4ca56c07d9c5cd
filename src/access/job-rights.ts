// Who may be told of a job, and who may cancel it, beside the token that made it and those with the scope ADMIN.

import type { Operation } from './operations.ts'
import type { Permissions } from './permissions.ts'
import type { ResourceKind } from './scopes/scope-types.ts'

/** What of a job the rights to it depend on. */
export interface JudgedJob {
  readonly kind: string
  readonly owner: { readonly tokenId: string | null }
  readonly subject: { readonly kind: ResourceKind; readonly id: string } | null
}

export type JobOperation = Extract<Operation, 'job:read' | 'job:cancel'>

type Rights = Readonly<Record<JobOperation, readonly Operation[]>>

const ofCreators: Rights = { 'job:read': ['datasource:create'], 'job:cancel': ['datasource:create'] }

/**
 * For each kind of job, and what it works on: one of these operations on that gives the right. A job of another kind is for its
 * maker and ADMIN alone, and so is one that works on nothing that is known.
 */
export const jobRights: Readonly<Record<string, Readonly<Partial<Record<ResourceKind, Rights>>>>> = {
  import: {
    datasource: { 'job:read': ['datasource:append', 'datasource:describe'], 'job:cancel': ['datasource:append'] },
  },
  delete_data: { datasource: ofCreators },
  populateview: {
    datasource: ofCreators,
    pipe: { 'job:read': ['pipe:change'], 'job:cancel': ['pipe:change'] },
  },
  repairview: { datasource: ofCreators },
}

/** What of a caller the rights to a job depend on. */
export interface JobCaller {
  /** See `Caller`. */
  readonly makerId: string
  readonly permissions: Permissions
}

export function isMaker({ makerId }: Pick<JobCaller, 'makerId'>, { owner }: JudgedJob): boolean {
  return makerId === owner.tokenId
}

/** Whether a caller has this right to a job. By the id of what it works on: the name may be another's by now. */
export function mayDoToJob(caller: JobCaller, operation: JobOperation, job: JudgedJob): boolean {
  const { permissions } = caller
  if (permissions.isAdmin || isMaker(caller, job)) return true
  const { kind, subject } = job
  if (subject === null) return false
  const { id } = subject
  const sufficient = jobRights[kind]?.[subject.kind]?.[operation] ?? []
  const isGiven = sufficient.some((one) => permissions.allows(one, { name: id, id, isQuarantine: false }))
  // What a job counts would tell of rows that a filter hides.
  return isGiven && permissions.seesAllRowsOf(id)
}

/** The same for many jobs of one caller, of which most work on the same. */
export function jobFilter(caller: JobCaller, operation: JobOperation): (job: JudgedJob) => boolean {
  const knownByKind = new Map<string, Map<string, boolean>>()
  return (job) => {
    if (caller.permissions.isAdmin || isMaker(caller, job)) return true
    if (job.subject === null) return false
    const known = knownByKind.get(job.kind) ?? new Map<string, boolean>()
    knownByKind.set(job.kind, known)
    // No two resources have the same id, of whatever kind they are.
    const { id } = job.subject
    const may = known.get(id) ?? mayDoToJob(caller, operation, job)
    known.set(id, may)
    return may
  }
}
