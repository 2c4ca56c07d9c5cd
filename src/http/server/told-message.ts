import type { FastifyRequest } from 'fastify'
import type { ApiError } from '../../shared/errors/errors.ts'
import { judgedNameOf } from './authorization.ts'

/** The message of an error as whoever asks may be told it: without rows that he may not read, and names that he may not see. */
export function toldMessage(error: ApiError, request: FastifyRequest): string {
  const { message, withoutRows, withoutOthers } = error
  if (withoutRows !== undefined && !mayHear(error, request)) return withoutRows
  if (withoutOthers !== undefined && request.caller?.permissions.readScope.seesAll !== true) return withoutOthers
  return message
}

/** Whether whoever asks may hear what the message of an error may quote. */
function mayHear({ quotes }: ApiError, request: FastifyRequest): boolean {
  const { caller } = request
  if (caller === null) return false
  switch (quotes) {
    case undefined:
    case 'sent':
      return true
    case 'stored':
      return request.server.access.refusalOf(caller, 'quarantine:read', judgedNameOf(request)) === null
    case 'of views':
      return caller.permissions.readsEverything
  }
}
