import type { FastifyReply, FastifyRequest } from 'fastify'
import { type OperationProof, proofsOf } from '../../access/access-proof.ts'
import type { Grant } from '../../access/grant.types.ts'
import type { Permissions } from '../../access/permissions.ts'
import type { ResourceKind } from '../../access/scopes/scope-types.ts'
import { errors } from '../../shared/errors/errors.ts'
import type { HttpDeps } from '../http.types.ts'
import { sendJson, toApiError } from '../json/answers.ts'
import { Parameters } from '../request/parameters.ts'
import { abortSignal } from '../server/abort-signal.ts'

type Deps = Pick<HttpDeps, 'access' | 'dataSources' | 'pipes' | 'query'>

/** What is asked about, and by whom. */
export interface ProvedToken {
  readonly name: string
  readonly permissions: Permissions
  readonly isExpired: boolean
  readonly asker: Permissions
}

/** Says what a token may do with a resource, and which query would run for it. */
export async function sendAccessProof(
  request: FastifyRequest,
  reply: FastifyReply,
  { token, deps }: { readonly token: ProvedToken; readonly deps: Deps },
): Promise<FastifyReply> {
  const parameters = new Parameters(request.query)
  const resource = parameters.text('resource')
  const sql = parameters.text('q')
  if (resource === undefined && sql === undefined) {
    throw errors.PARAMETER_INVALID({ parameter: 'resource', value: '', expected: 'the name of a Data Source or Pipe' })
  }
  const { name, isExpired } = token
  return sendJson(reply, 200, {
    token: name,
    ...(isExpired ? { expired: true } : {}),
    ...(resource === undefined ? {} : proofShape(token, resource, deps)),
    ...(sql === undefined ? {} : { query: await queryShape(token, sql, { deps, signal: abortSignal(reply) }) }),
  })
}

function proofShape({ permissions, asker }: ProvedToken, nameOrId: string, deps: Deps): object {
  const found = (['datasource', 'pipe'] as const).flatMap((kind) => {
    const named = deps.access.find(kind, nameOrId)
    // Whoever manages tokens is not told by that what there is.
    const isTold = named.id !== undefined && (asker.sees(kind, named.id) || permissions.sees(kind, named.id))
    return isTold ? [{ kind, named }] : []
  })
  const kinds: readonly ResourceKind[] = found.length === 0 ? ['datasource', 'pipe'] : found.map(({ kind }) => kind)
  const nameOf = (id: string): string => (deps.dataSources.find(id) ?? deps.pipes.find(id))?.name ?? id
  const proofs = kinds.flatMap((kind) => proofsOf(permissions, kind, deps.access.find(kind, nameOrId)))
  const [first] = found
  return {
    resource: { name: nameOrId, id: first?.named.id ?? null, type: first?.kind ?? null },
    operations: proofs.map((proof) => operationShape(proof, nameOf)),
  }
}

function operationShape(
  { operation, isAllowed, grants, missing, isFiltered, isClosed }: OperationProof,
  nameOf: (id: string) => string,
): object {
  return {
    operation,
    allowed: isAllowed,
    scopes: grants.map((grant) => grantText(grant, nameOf)),
    ...(missing.length === 0 ? {} : { needs_one_of: missing }),
    ...(isFiltered ? { reason: 'A filter hides rows from the token, and this would tell of them' } : {}),
    ...(isClosed ? { reason: 'A filter of the token is of what is not there any more' } : {}),
  }
}

function grantText({ type, resource, filter }: Grant, nameOf: (id: string) => string): string {
  return [type, ...(resource === null ? [] : [nameOf(resource)]), ...(filter === null ? [] : [filter])].join(':')
}

interface QueryContext {
  readonly deps: Deps
  readonly signal: AbortSignal
}

/** The SQL with the filters of the token in it, or why it would be refused. */
async function queryShape(token: ProvedToken, sql: string, { deps, signal }: QueryContext): Promise<object> {
  const { readScope } = token.permissions
  const mayShowPipes = token.asker.readScope.seesAll
  try {
    const shown = await deps.query.show({ sql, parameters: new Map(), readScope, mayShowPipes, signal })
    return { allowed: true, sql: shown }
  } catch (thrown) {
    const error = toApiError(thrown)
    if (error.status >= 500) throw thrown
    return { allowed: false, error: error.message }
  }
}
