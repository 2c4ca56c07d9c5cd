import type { FastifyRequest } from 'fastify'
import type { Pipe } from '../../catalog/pipe.types.ts'
import type { ApiError } from '../../shared/errors/errors.ts'
import { withViewNames } from '../json/view-names.ts'
import { judgedNameOf } from './authorization.ts'

/**
 * The message of an error as whoever asks may be told it: without rows that he may not read, and names that he may not see; views by the
 * names of their nodes.
 */
export function toldMessage(error: ApiError, request: FastifyRequest, pipes: () => readonly Pipe[]): string {
  return withViewNames(toldText(error, request), pipes, request.caller?.permissions)
}

function toldText(error: ApiError, request: FastifyRequest): string {
  const { message, withoutRows, withoutOthers } = error
  if (withoutRows !== undefined && !mayHear(error, request)) return withoutRows
  if (withoutOthers !== undefined && !mayHearOfOthers(error, request)) return withoutOthers
  return message
}

/** Whether whoever asks may know of the resources that the message names. */
function mayHearOfOthers({ others }: ApiError, { caller, server }: FastifyRequest): boolean {
  if (caller?.permissions.readScope.seesAll === true) return true
  if (caller === null || others === undefined) return false
  return others.every(({ kind, name }) => server.access.knowsOf(caller, kind, name))
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
