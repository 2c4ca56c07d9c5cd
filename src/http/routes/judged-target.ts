import type { FastifyRequest } from 'fastify'
import type { Operation } from '../../access/operations.ts'
import type { NodePopulate, NodeTarget } from '../../pipes/pipes.types.ts'
import type { HttpDeps } from '../http.types.ts'
import type { TargetOrder } from '../request/target-input.ts'
import { callerOf, requireAccess } from '../server/authorization.ts'

/**
 * The data source that a node is to fill, once it is clear that the caller may have it filled: whoever makes views must not write
 * where he could not send rows.
 *
 * @throws what `Access.refusalOf` gives (403).
 */
export function judgedTarget(
  request: FastifyRequest,
  { name, engine, isOverridden, populate }: TargetOrder,
  { dataSources }: Pick<HttpDeps, 'dataSources'>,
): NodeTarget {
  const found = dataSources.find(name)
  if (found !== undefined) requireKnown(request, name)
  // With truncate what it has goes.
  const isRemade = isOverridden || populate?.truncates === true
  if (found === undefined || isRemade) requireAccess(request, 'target:create', name)
  if (found !== undefined) requireAccess(request, 'target:fill', name)
  if (found !== undefined && isOverridden) requireAccess(request, 'target:override', name)
  const may = (operation: Operation) => (id: string) =>
    request.server.access.refusalOf(callerOf(request), operation, id) === null
  const asked = populate === null ? null : { ...populate, maker: makerOf(request) }
  const rights = { mayWriteTo: may('target:fill'), mayRead: may('target:compare') }
  return { name, knownId: found?.id ?? null, engine, isOverridden, populate: asked, ...rights }
}

/** Whoever may not know of a data source is refused as if there were none: else the refusal tells. @throws SCOPE_MISSING (403) */
function requireKnown(request: FastifyRequest, name: string): void {
  const { access } = request.server
  const caller = callerOf(request)
  if (access.refusalOf(caller, 'target:fill', name) === null || access.knowsOf(caller, 'datasource', name)) return
  requireAccess(request, 'target:create', name)
}

/** Who asks for a populate, as its job knows him. */
export function makerOf(request: FastifyRequest): NodePopulate['maker'] {
  const { makerId, tokenName } = callerOf(request)
  return { owner: { tokenId: makerId, tokenName }, logFields: { requestId: request.id } }
}
