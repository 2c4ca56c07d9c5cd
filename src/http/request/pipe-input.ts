// What a request says of a pipe or a node: parameters may stand in the URL, a form or JSON, SQL beside them or in the body.

import type { FastifyRequest } from 'fastify'
import type { NodeEdit, NodeRequest } from '../../pipes/pipes.types.ts'
import { errors } from '../../shared/errors/errors.ts'
import type { FormLimits } from '../http.types.ts'
import { type ChangeInput, readChangeInput } from './change-parameters.ts'
import { Parameters } from './parameters.ts'
import { readTarget, type TargetOrder } from './target-input.ts'

export type PipeInput = ChangeInput

/** A node that is to be made; what it is to fill is not looked up yet. */
export interface NodeOrder extends Omit<NodeRequest, 'target'> {
  readonly target: TargetOrder | undefined
}

/** The same as for any change, with the texts, numbers and booleans of a JSON object among the parameters. */
export async function readPipeInput(request: FastifyRequest, limits: FormLimits): Promise<PipeInput> {
  const input = await readChangeInput(request, limits)
  for (const [name, value] of Object.entries(input.document)) {
    const isScalar = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    if (isScalar) input.parameters.set(name, String(value))
  }
  return input
}

/**
 * The nodes of a pipe that is to be made: those of the JSON, or one of the SQL; undefined when there is neither.
 *
 * @throws REQUEST_INVALID, NODE_TYPE_UNSUPPORTED, PARAMETER_INVALID (400)
 */
export function readNodes(input: PipeInput): readonly NodeOrder[] | undefined {
  const nodes = input.document['nodes']
  const sql = readSql(input)
  if (nodes === undefined || nodes === null) {
    if (sql === undefined) return undefined
    return [{ name: undefined, description: '', sql, ...readKind(input.parameters) }]
  }
  if (sql !== undefined)
    throw errors.REQUEST_INVALID({ reason: 'there is a query in "sql" and another one in "nodes"' })
  if (!Array.isArray(nodes)) throw errors.REQUEST_INVALID({ reason: '"nodes" must be a list of objects' })
  const requests = nodes.map((node: unknown) => readNode(node, input.parameters))
  if (requests.filter((node) => node.isEndpoint).length > 1) {
    throw errors.REQUEST_INVALID({
      reason: 'only one node of a pipe can be published, but several are of type endpoint',
    })
  }
  return requests
}

/** @throws REQUEST_INVALID, NODE_TYPE_UNSUPPORTED, PARAMETER_INVALID (400) */
export function readNodeOrder(input: PipeInput): NodeOrder {
  const { parameters } = input
  return {
    name: parameters.text('name'),
    description: parameters.get('description') ?? '',
    sql: readSql(input) ?? '',
    ...readKind(parameters),
  }
}

/** @throws REQUEST_INVALID, PARAMETER_INVALID (400) */
export function readNodeEdit(input: PipeInput): NodeEdit {
  const { parameters } = input
  return {
    name: readNewName(parameters),
    description: parameters.get('description'),
    sql: readSql(input),
    position: readPosition(parameters.text('position')),
    isForced: parameters.flag('force'),
  }
}

/** A name that is sent empty is a mistake, not the wish to keep it. @throws NAME_MISSING (400) */
export function readNewName(parameters: Parameters): string | undefined {
  return parameters.get('name') === undefined ? undefined : parameters.requiredName()
}

/** SQL as it was sent, in the body or in `sql`; undefined when there is none. @throws REQUEST_INVALID (400) when both are. */
function readSql({ parameters, text }: PipeInput): string | undefined {
  const sql = parameters.get('sql')
  if (text.trim() === '') return sql
  if (sql === undefined) return text
  throw errors.REQUEST_INVALID({ reason: 'there is a query in the parameter "sql" and another one in the body' })
}

/** @param given of the request, where the official client says how all nodes are to be materialized. */
function readNode(value: unknown, given: Parameters): NodeOrder {
  if (typeof value !== 'object' || value === null) throw errors.REQUEST_INVALID({ reason: 'a node must be an object' })
  const node = new Map<string, unknown>(Object.entries(value))
  const name = readText(node, 'name')?.trim()
  for (const field of ['type', 'node_type']) readText(node, field)
  const misnamed = ['query', 'q', 'SQL'].find((field) => !node.has('sql') && node.has(field))
  if (misnamed !== undefined)
    throw errors.SQL_EMPTY({ hint: `A node has its query in 'sql', but this one in '${misnamed}'` })
  return {
    name: name === '' ? undefined : name,
    description: readText(node, 'description') ?? '',
    sql: readText(node, 'sql') ?? '',
    ...readKind(fieldsOf(node, given)),
  }
}

/** What a node of JSON says beside its texts; the official client puts it into `params` as well. */
function fieldsOf(node: ReadonlyMap<string, unknown>, given: Parameters): Parameters {
  const inner = node.get('params')
  const own = [...(typeof inner === 'object' && inner !== null ? Object.entries(inner) : []), ...node]
  const isMaterialized = own.some(([field, value]) => kindFields.test(field) && /^materialized$/i.test(String(value)))
  const fields = new Parameters()
  if (isMaterialized)
    for (const [field, value] of given.entries()) if (sharedFields.test(field)) fields.set(field, value)
  for (const [field, value] of own) {
    const isScalar = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    if (isScalar) fields.set(field, String(value))
  }
  return fields
}

function readText(node: ReadonlyMap<string, unknown>, field: string): string | undefined {
  const value = node.get(field) ?? undefined
  if (value === undefined || typeof value === 'string') return value
  throw errors.REQUEST_INVALID({ reason: `"${field}" of a node must be a text` })
}

const kindFields = /^(?:node_)?type$/
const sharedFields = /^(?:override_datasource|unlink_on_populate_error|populate(?:_\w+)?)$/
const laterTypes: readonly string[] = ['copy', 'sink', 'stream']
/** They say where a materialized node writes to. */
const targetParameter =
  /^(?:datasource|override_datasource|unlink_on_populate_error|engine(?:_\w+)?|populate(?:_\w+)?)$/

/** @throws NODE_TYPE_UNSUPPORTED, PARAMETER_INVALID, REQUEST_INVALID, … (400) */
function readKind(parameters: Parameters): Pick<NodeOrder, 'isEndpoint' | 'target'> {
  const word = (parameters.text('type') ?? parameters.text('node_type') ?? '').toLowerCase()
  if (laterTypes.includes(word)) throw errors.NODE_TYPE_UNSUPPORTED({ type: word })
  if (word === 'materialized') return { isEndpoint: false, target: readTarget(parameters) }
  // The official client tries a materialized node as a standard one first, with all that it says of its data source.
  if (word === 'standard' || word === 'default') return { isEndpoint: false, target: undefined }
  for (const [parameter, value] of parameters.entries()) {
    const isOff = /^(?:false|0)?$/i.test(value.trim())
    if (isOff || !targetParameter.test(parameter)) continue
    throw errors.REQUEST_INVALID({ reason: `"${parameter}" needs type=materialized` })
  }
  if (word === 'endpoint') return { isEndpoint: true, target: undefined }
  if (word === '') return { isEndpoint: false, target: undefined }
  const expected = 'standard, endpoint or materialized'
  throw errors.PARAMETER_INVALID({ parameter: 'type', value: word, expected })
}

function readPosition(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw errors.PARAMETER_INVALID({ parameter: 'position', value: text, expected: 'a whole number from 0' })
}
