// What a caller may have meant who was refused, for the field `hint`. It is made where the answer is, so that every error has it
// whoever raised it, and out of names that the caller may read alone.

import type { FastifyRequest } from 'fastify'
import { versionAdvice } from '../../catalog/versioned-name.ts'
import type { ApiError } from '../../shared/errors/errors.ts'
import { didYouMean, nearestName } from '../../shared/nearest-name.ts'
import type { HttpDeps } from '../http.types.ts'
import { plannedAt } from './planned-paths.ts'

type Deps = Pick<HttpDeps, 'access' | 'dataSources' | 'pipes'>

export type Adviser = (error: ApiError, request: FastifyRequest) => string | undefined

interface Named {
  readonly id: string
  readonly name: string
}

/** Names are advised to callers whose token has been judged, and of these those that they may read. */
export function createAdviser({ access, dataSources, pipes }: Deps): Adviser {
  return (error, request) => {
    const { caller } = request
    const mayRead = caller === null ? () => false : access.readScopeOf(caller).mayRead
    const seen = <One extends Named>(named: readonly One[]) => named.filter(({ id }) => mayRead(id))
    const names = (named: readonly Named[]): readonly string[] => seen(named).map(({ name }) => name)
    const [subject = '', inner = ''] = error.subject
    switch (error.code) {
      case 'DATASOURCE_NOT_FOUND':
        return (
          versionAdvice(subject, seen(dataSources.list())) ??
          didYouMean(subject, names(dataSources.list())) ??
          kindAdvice(subject, names(pipes.list()), 'a Pipe')
        )
      case 'PIPE_NOT_FOUND':
      case 'PIPE_UNKNOWN':
        return (
          didYouMean(subject, names(pipes.list())) ?? kindAdvice(subject, names(dataSources.list()), 'a Data Source')
        )
      case 'NODE_NOT_FOUND':
      case 'NODE_UNKNOWN':
        return didYouMean(inner, names(seen(pipes.list()).find(({ name }) => name === subject)?.nodes ?? []))
      case 'NOT_FOUND':
        return pathAdvice(subject)
      case 'METHOD_NOT_ALLOWED':
        return methodAdvice(error, request)
      case 'TOKEN_MISSING':
      case 'TOKEN_LATE':
      case 'TOKEN_INVALID':
        return tokenAdvice(request)
      default:
        return parameterAdvice(error, request)
    }
  }
}

function kindAdvice(name: string, others: readonly string[], kind: string): string | undefined {
  return others.includes(name) ? `'${name}' is ${kind}` : undefined
}

const served: ReadonlySet<string> = new Set(['datasources', 'events', 'pipes', 'sql', 'analyze', 'variables'])

const nodeActions = [
  ...['analysis', 'catch_up', 'endpoint', 'explain', 'materialization'],
  ...['population', 'relink', 'repair', 'verify'],
]
/** What people call them that is no slip of the pen. */
const otherWords: ReadonlyMap<string, string> = new Map([
  ['populate', 'population'],
  ['backfill', 'population'],
  ['catchup', 'catch_up'],
  ['catch-up', 'catch_up'],
  ['materialize', 'materialization'],
  ['materialized', 'materialization'],
  ['publish', 'endpoint'],
  ['analyze', 'analysis'],
  ['analyse', 'analysis'],
  ['link', 'relink'],
  ['check', 'verify'],
  ['verification', 'verify'],
])

function pathAdvice(path: string): string | undefined {
  const [, version = '', collection = '', ...rest] = path.split('/')
  if (/^v\d+$/.test(version) && version !== 'v0' && served.has(collection))
    return `The API begins with /v0: /v0/${collection}`
  // A name that is near to one that is served, and is a planned one.
  if (plannedAt(path) !== undefined) return undefined
  const near = version === 'v0' ? didYouMean(collection, served) : didYouMean(version, served)
  if (near !== undefined) return near.replace(/'(\w+)'/, "'/v0/$1'")
  if (served.has(version)) return `The API begins with /v0: /v0/${version}`
  const [, nodes, node, action] = rest
  if (version === 'v0' && collection === 'pipes' && nodes === 'nodes' && action !== undefined) {
    const meant = otherWords.get(action.toLowerCase()) ?? nearestName(action, nodeActions)
    return meant === undefined ? undefined : `Did you mean '/v0/pipes/${rest[0]}/nodes/${node}/${meant}'?`
  }
  if (version === 'v0' && collection === 'pipes' && rest.at(-1) === 'data') {
    return "The data of a Pipe are at its name with a format: '/v0/pipes/<name>.json'"
  }
  return undefined
}

/** A request without a body is a GET for curl, and for most who type an address. */
function methodAdvice({ message }: ApiError, { method }: FastifyRequest): string | undefined {
  if (method !== 'GET' || !message.includes('POST')) return undefined
  return 'curl sends a POST when it is given a body (-d, --data-binary, -F) or -X POST'
}

function tokenAdvice({ headers: { authorization }, query }: FastifyRequest): string | undefined {
  const where = 'each start of the service prints the admin token, or the file that has it'
  if (authorization === undefined) {
    return typeof query === 'object' && query !== null && 'token' in query ? where : undefined
  }
  const token = /^bearer +(.*)$/i.exec(authorization.trim())?.[1]
  if (token === undefined) return 'The header Authorization must be "Bearer <token>"'
  if (/[$%{<]/.test(token)) {
    return 'The token is the name of a variable or a placeholder: a shell replaces variables in double quotes only, "Authorization: Bearer $TOKEN"'
  }
  if (/^["'].*["']$/.test(token)) return 'The token is in quotes: send it without them'
  return `The token is not that of this service: ${where}`
}

/** Parameters that are required somewhere, and what people send in their place. */
const required = {
  NAME_MISSING: { name: 'name', others: ['datasource', 'data_source', 'table', 'pipe'] },
  BODY_MISSING: { name: 'schema', others: ['columns'] },
  SQL_EMPTY: { name: 'q', others: ['query', 'sql'] },
  NODES_MISSING: { name: 'sql', others: ['q', 'query'] },
} as const

function parameterAdvice({ code }: ApiError, request: FastifyRequest): string | undefined {
  if (!Object.hasOwn(required, code)) return undefined
  // It has this key, as the line before says.
  const { name, others } = required[code as keyof typeof required]
  const sent = sentNames(request)
  const foreign = others.find((other) => sent.includes(other))
  const misspelt = foreign ?? sent.find((other) => other !== name && didYouMean(other, [name]) !== undefined)
  return misspelt === undefined ? undefined : `Did you mean '${name}' instead of '${misspelt}'?`
}

const namesMax = 100

/** Names of the parameters of URL and body, as far as they are read. */
function sentNames({ query, sentParameters }: FastifyRequest): readonly string[] {
  const names = [...Object.keys(query ?? {}), ...(sentParameters?.() ?? [])]
  return names.slice(0, namesMax)
}
