import type { JobOperation } from '../../access/job-rights.ts'
import type { Operation } from '../../access/operations.ts'

/** Where a request names what it is about. */
export type ResourcePlace =
  | {
      readonly in: 'path'
      readonly parameter: string
      /** What may stand behind the name, and is no part of it. */
      readonly suffix: string
    }
  | { readonly in: 'query'; readonly parameter: string }
  /** In a field that may also be in the body: the handler judges it with `requireAccess` before its first effect. */
  | { readonly in: 'body' }
  /** A job that a parameter of the path names: the handler judges it with `requireJob`. */
  | { readonly in: 'job'; readonly parameter: string }
  /** In a query: the handler runs it with `readScopeOf`. */
  | { readonly in: 'sql' }
  /** It is about no single resource. */
  | { readonly in: 'workspace' }

export interface OperationNeed {
  /** The first is judged before the handler, where the head of a request names the resource; others the handler may require. */
  readonly operations: readonly [Operation, ...Operation[]]
  readonly resource: ResourcePlace
}

/** What a route needs of its caller: nothing, a token that is known, or the right to do something. */
export type RouteNeed = 'nothing' | 'token' | OperationNeed

/** The right to do something to what a parameter of the path names. `also` is what the handler may require beside it. */
export function onPath(
  operation: Operation,
  parameter: string,
  { suffix = '', also = [] }: { readonly suffix?: string; readonly also?: readonly Operation[] } = {},
): OperationNeed {
  return { operations: [operation, ...also], resource: { in: 'path', parameter, suffix } }
}

/** The same for a parameter of the query. `also` is what the handler may require beside it. */
export function onQuery(operation: Operation, parameter: string, also: readonly Operation[] = []): OperationNeed {
  return { operations: [operation, ...also], resource: { in: 'query', parameter } }
}

/** The right to one of these at least, for what the parameters name together with the body. */
export function inBody(...operations: OperationNeed['operations']): OperationNeed {
  return { operations, resource: { in: 'body' } }
}

/** The right to do something to the job that a parameter of the path names. */
export function onJob(operation: JobOperation, parameter: string): OperationNeed {
  return { operations: [operation], resource: { in: 'job', parameter } }
}

/** The right to ask, for names that the query has. */
export function inSql(operation: Operation): OperationNeed {
  return { operations: [operation], resource: { in: 'sql' } }
}

/** The right to do something that is about no single resource. */
export function onWorkspace(operation: Operation): OperationNeed {
  return { operations: [operation], resource: { in: 'workspace' } }
}
