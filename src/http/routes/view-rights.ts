import type { FastifyRequest } from 'fastify'
import type { Operation } from '../../access/operations.ts'
import type { ViewRights } from '../../pipes/pipes.types.ts'
import { callerOf } from '../server/authorization.ts'

/** What the caller may do about views that are made of a node. */
export function viewRightsOf(request: FastifyRequest): ViewRights {
  const may = (operation: Operation) => (id: string) =>
    request.server.access.refusalOf(callerOf(request), operation, id) === null
  return {
    ...{ mayChange: may('pipe:change'), mayFill: may('target:fill') },
    ...{ mayWriteTo: may('target:fill'), mayRead: may('target:compare') },
  }
}
