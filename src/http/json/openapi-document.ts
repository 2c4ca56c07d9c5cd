// The description of endpoints for machines: OpenAPI 3.0.3.
//
// One path stands for all formats of an endpoint, `/pipes/<name>.{format}`: clients look an endpoint up by this key, and
// show what stands there, so that parameters and columns stand in the path itself and are no references.

import type { EndpointDescription } from '../../pipes/endpoint-descriptions.ts'
import { endpointFormats } from '../../query/answer-formats.ts'
import { columnSchema, type JsonSchema, parameterSchema, valueOfSchema } from './openapi-schema.ts'

type Parameter = EndpointDescription['parameters'][number]

export interface DocumentOptions {
  readonly title: string
  readonly description: string
  /** The address that the client reaches the service under, without a path. */
  readonly baseUrl: string
}

/** The OpenAPI document of these endpoints, as plain JSON. */
export function openApiDocument(endpoints: readonly EndpointDescription[], options: DocumentOptions): JsonSchema {
  const { title, description, baseUrl } = options
  return {
    openapi: '3.0.3',
    info: { title, description, version: '0' },
    servers: [{ url: `${baseUrl}/v0` }],
    security: [{ bearer: [] }, { token: [] }],
    paths: Object.fromEntries(endpoints.map((endpoint) => [pathNameOf(endpoint), pathOf(endpoint)] as const)),
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer' },
        token: { type: 'apiKey', in: 'query', name: 'token' },
      },
      schemas: { Error: errorSchema },
      responses: {
        Error: { description: 'The request failed.', content: { 'application/json': { schema: errorReference } } },
      },
    },
  }
}

const errorReference = { $ref: '#/components/schemas/Error' }
const errorSchema = {
  type: 'object',
  required: ['error'],
  properties: { error: { type: 'string' }, documentation: { type: 'string' } },
}

/** What the path of an endpoint is called; no two endpoints have the same. */
export function pathNameOf({ name }: EndpointDescription): string {
  return `/pipes/${name}.{format}`
}

/** What stands under the path of an endpoint. */
export function pathOf(endpoint: EndpointDescription): JsonSchema {
  const { name, description, parameters } = endpoint
  const operation = {
    summary: firstLine(description) || name,
    ...(description === '' ? {} : { description }),
    tags: [name],
    responses: responsesOf(endpoint),
  }
  return {
    parameters: [formatParameter, receiptParameter],
    get: { operationId: name, ...operation, parameters: parameters.map(queryParameter) },
    post: {
      operationId: `post_${name}`,
      ...operation,
      ...(parameters.length === 0 ? {} : { requestBody: bodyOf(parameters) }),
    },
  }
}

function firstLine(text: string): string {
  return text.trim().split('\n', 1)[0]?.trim() ?? ''
}

const formatParameter = {
  name: 'format',
  in: 'path',
  required: true,
  description: 'The format of the answer.',
  schema: { type: 'string', enum: endpointFormats, default: 'json' },
}

const receiptParameter = {
  name: 'wait_until',
  in: 'query',
  required: false,
  description:
    'Receipts of rows that the answer is to see, with commas between them: the header X-Millrace-Receipt of answers to writes.',
  schema: { type: 'string' },
}

function queryParameter(parameter: Parameter): JsonSchema {
  const schema = schemaOf(parameter)
  const isArray = schema['type'] === 'array'
  return {
    name: parameter.name,
    in: 'query',
    required: parameter.required === true,
    ...descriptionOf(parameter),
    // Lists come as one text with commas.
    ...(isArray ? { style: 'form', explode: false } : {}),
    schema,
    ...exampleOf(parameter, schema),
  }
}

function bodyOf(parameters: readonly Parameter[]): JsonSchema {
  const required = parameters.filter((parameter) => parameter.required === true).map(({ name }) => name)
  const properties = parameters.map((parameter) => {
    const schema = schemaOf(parameter)
    return [parameter.name, { ...descriptionOf(parameter), ...schema, ...exampleOf(parameter, schema) }] as const
  })
  const schema = {
    type: 'object',
    ...(required.length === 0 ? {} : { required }),
    properties: Object.fromEntries(properties),
  }
  return { required: required.length > 0, content: { 'application/json': { schema } } }
}

function schemaOf(parameter: Parameter): JsonSchema {
  const schema = parameterSchema(parameter.type)
  const fallback = valueOfSchema(parameter.default, schema)
  const isArray = schema['type'] === 'array'
  const { items } = schema
  const choices = choicesOf(parameter, isArray && typeof items === 'object' && items !== null ? { ...items } : schema)
  const { format } = parameter
  return {
    ...schema,
    ...(format === undefined || format === '' ? {} : { format }),
    // The choices of a list are those of its elements.
    ...(isArray ? { items: { ...(items as object), ...choices } } : choices),
    ...(fallback === undefined ? {} : { default: fallback }),
  }
}

function choicesOf(parameter: Parameter, schema: JsonSchema): JsonSchema {
  const given = parameter.enum
  if (given === undefined || given === null) return {}
  const listed: readonly unknown[] = Array.isArray(given) ? given : String(given).split(',')
  const choices = listed.map((choice) => valueOfSchema(choice, schema)).filter((choice) => choice !== undefined)
  return choices.length === 0 ? {} : { enum: [...new Set(choices)] }
}

/** A default that JSON's readers would round is told in words. */
function descriptionOf(parameter: Parameter): JsonSchema {
  const { description, default: fallback } = parameter
  const isTold = fallback === null || valueOfSchema(fallback, parameterSchema(parameter.type)) !== undefined
  const sentences = [description ?? '', isTold ? '' : `Default: ${JSON.stringify(fallback)}.`]
  const text = sentences.filter((sentence) => sentence !== '').join(' ')
  return text === '' ? {} : { description: text }
}

function exampleOf({ example }: Parameter, schema: JsonSchema): JsonSchema {
  const value = valueOfSchema(example, schema)
  return value === undefined ? {} : { example: value }
}

function responsesOf({ columns }: EndpointDescription): JsonSchema {
  const row = rowSchema(columns)
  return {
    200: {
      description: 'The rows of the endpoint.',
      content: {
        'application/json': { schema: answerSchema(row) },
        'application/x-ndjson': { schema: row },
        'text/csv': { schema: { type: 'string' } },
        'text/plain': { schema: { type: 'string' } },
        'application/vnd.apache.parquet': { schema: binarySchema },
        'application/vnd.apache.arrow.file': { schema: binarySchema },
      },
    },
    default: { $ref: '#/components/responses/Error' },
  }
}

const binarySchema = { type: 'string', format: 'binary' }

function rowSchema(columns: EndpointDescription['columns']): JsonSchema {
  if (columns === null) return { type: 'object', additionalProperties: true }
  const properties = columns.map(
    ({ name, type }) => [name, { ...columnSchema(type), 'x-clickhouse-type': type }] as const,
  )
  const required = [...new Set(columns.map(({ name }) => name))]
  return {
    type: 'object',
    ...(required.length === 0 ? {} : { required }),
    properties: Object.fromEntries(properties),
  }
}

function answerSchema(row: JsonSchema): JsonSchema {
  const count = { type: 'integer', format: 'int64', minimum: 0 }
  const column = {
    type: 'object',
    required: ['name', 'type'],
    properties: { name: { type: 'string' }, type: { type: 'string' } },
  }
  const statistics = {
    type: 'object',
    properties: { elapsed: { type: 'number', format: 'double' }, rows_read: count, bytes_read: count },
  }
  return {
    type: 'object',
    required: ['meta', 'data', 'rows', 'statistics'],
    properties: {
      meta: { type: 'array', items: column },
      data: { type: 'array', items: row },
      rows: count,
      rows_before_limit_at_least: count,
      statistics,
    },
  }
}
