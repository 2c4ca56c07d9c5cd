import t from 'tap'
import { openApiDocument } from '../../../src/http/json/openapi-document.ts'
import { columnSchema } from '../../../src/http/json/openapi-schema.ts'
import type { EndpointDescription } from '../../../src/pipes/endpoint-descriptions.ts'
import { openApiFaults } from '../../support/http/openapi-rules.ts'

type Parameter = EndpointDescription['parameters'][number]

const options = { title: 'Endpoints', description: '', baseUrl: 'http://127.0.0.1:7181' }

function describe(parameters: readonly Parameter[], columns: EndpointDescription['columns'] = []): EndpointDescription {
  return { name: 'top', description: 'The top pages.\n\nBy *views*.', parameters, columns }
}

/** The document as clients read it, without fields that are undefined. */
function documentOf(endpoints: readonly EndpointDescription[]) {
  return JSON.parse(JSON.stringify(openApiDocument(endpoints, options)))
}

t.test('an endpoint is one path for all its formats, with parameters and columns in it', async (t) => {
  const document = documentOf([
    describe(
      [
        { name: 'org', type: 'String', default: null, required: true, description: 'Whose pages', example: 'acme' },
        { name: 'days', type: 'Int32', default: 7, format: 'number' },
        { name: 'ids', type: 'Array(UInt16)', default: '1,2' },
      ],
      [
        { name: 'path', type: 'String' },
        { name: 'views', type: 'Nullable(UInt64)' },
      ],
    ),
  ])
  t.same(openApiFaults(document), [])
  t.match(document, {
    openapi: '3.0.3',
    info: { title: 'Endpoints' },
    servers: [{ url: 'http://127.0.0.1:7181/v0' }],
    security: [{ bearer: [] }, { token: [] }],
  })
  t.same(Object.keys(document.paths), ['/pipes/top.{format}'])
  const path = document.paths['/pipes/top.{format}']
  t.match(path.parameters, [
    { name: 'format', in: 'path', required: true, schema: { enum: ['json', 'csv', 'ndjson'] } },
    { name: 'wait_until', in: 'query', required: false, schema: { type: 'string' } },
  ])
  t.match(path.get, { operationId: 'top', summary: 'The top pages.', description: 'The top pages.\n\nBy *views*.' })
  t.same(path.get.parameters, [
    {
      name: 'org',
      in: 'query',
      required: true,
      description: 'Whose pages',
      schema: { type: 'string' },
      example: 'acme',
    },
    { name: 'days', in: 'query', required: false, schema: { type: 'integer', format: 'number', default: 7 } },
    {
      name: 'ids',
      in: 'query',
      required: false,
      style: 'form',
      explode: false,
      schema: { type: 'array', items: { type: 'integer', format: 'int32', minimum: 0 }, default: [1, 2] },
    },
  ])
  t.same(path.get.responses['200'].content['application/x-ndjson'].schema, {
    type: 'object',
    required: ['path', 'views'],
    properties: {
      path: { type: 'string', 'x-clickhouse-type': 'String' },
      views: { type: 'integer', minimum: 0, nullable: true, 'x-clickhouse-type': 'Nullable(UInt64)' },
    },
  })
  t.same(path.post.requestBody.content['application/json'].schema.required, ['org'])
  t.match(path.post.requestBody, {
    required: true,
    content: { 'application/json': { schema: { properties: { days: { type: 'integer', default: 7 } } } } },
  })
})

t.test('every type of a parameter has a schema, and defaults become values of it', async (t) => {
  for (const [type, fallback, schema] of [
    ['String', 'a', { type: 'string', default: 'a' }],
    ['String', 5, { type: 'string', default: '5' }],
    ['Boolean', 'False', { type: 'boolean', default: false }],
    ['bool', 1, { type: 'boolean', default: true }],
    ['Int8', '-5', { type: 'integer', format: 'int32', default: -5 }],
    ['Integer', 0, { type: 'integer', format: 'int32', default: 0 }],
    ['UInt32', 5, { type: 'integer', format: 'int64', minimum: 0, default: 5 }],
    ['Int64', -1, { type: 'integer', format: 'int64', default: -1 }],
    ['UInt64', 1, { type: 'integer', minimum: 0, default: 1 }],
    ['Int256', 'x', { type: 'integer' }],
    ['Float32', '0.5', { type: 'number', format: 'float', default: 0.5 }],
    ['Float64', null, { type: 'number', format: 'double' }],
    ['Date', '2026-01-01', { type: 'string', format: 'date', default: '2026-01-01' }],
    ['DateTime', '2026-01-01 00:00:00', { type: 'string', default: '2026-01-01 00:00:00' }],
    ['UUID', null, { type: 'string', format: 'uuid' }],
    ['JSON', '[]', { type: 'string', default: '[]' }],
    ['Symbol', 'c', { type: 'string', default: 'c' }],
    ['column', 'c', { type: 'string', default: 'c' }],
    ['Array(String)', ['a', 'b'], { type: 'array', items: { type: 'string' }, default: ['a', 'b'] }],
    ['Array(Float64)', '1,2.5', { type: 'array', items: { type: 'number', format: 'double' }, default: [1, 2.5] }],
    ['Array(Int32)', 'a', { type: 'array', items: { type: 'integer', format: 'int32' } }],
    [
      'Array(Array(Int8))',
      null,
      { type: 'array', items: { type: 'array', items: { type: 'integer', format: 'int32' } } },
    ],
  ] as const) {
    const document = documentOf([describe([{ name: 'p', type, default: fallback }])])
    t.same(openApiFaults(document), [], type)
    t.same(document.paths['/pipes/top.{format}'].get.parameters[0].schema, schema, `${type} with ${String(fallback)}`)
  }
})

t.test('choices, examples and defaults that cannot be are left out or told in words', async (t) => {
  const document = documentOf([
    describe([
      { name: 'big', type: 'Int64', default: '9007199254740993', description: 'A large one.' },
      { name: 'size', type: 'Int32', default: 1, enum: ['1', 2, 'x', 2], example: '2' },
      { name: 'sort', type: 'String', default: 'a', enum: 'a,b' },
      { name: 'tags', type: 'Array(String)', default: null, enum: ['x', 'y'], example: 'x,y' },
      { name: 'none', type: 'Float64', default: null, enum: [], example: 'x' },
    ]),
  ])
  t.same(openApiFaults(document), [])
  const [big, size, sort, tags, none] = document.paths['/pipes/top.{format}'].get.parameters
  t.same(big.schema, { type: 'integer', format: 'int64' })
  t.equal(big.description, 'A large one. Default: "9007199254740993".')
  t.same([size.schema.enum, size.example], [[1, 2], 2])
  t.same(sort.schema.enum, ['a', 'b'])
  t.same(
    [tags.schema.items.enum, tags.example],
    [
      ['x', 'y'],
      ['x', 'y'],
    ],
  )
  t.same([none.schema, none.example], [{ type: 'number', format: 'double' }, undefined])
})

t.test('columns are described as ClickHouse writes them in JSON', async (t) => {
  for (const [type, schema] of [
    ['UInt8', { type: 'integer', format: 'int32', minimum: 0 }],
    ['Int64', { type: 'integer', format: 'int64' }],
    ['UInt256', { type: 'integer', minimum: 0 }],
    ['Float64', { type: 'number', format: 'double', nullable: true }],
    ['Decimal(10, 2)', { type: 'number' }],
    ['Bool', { type: 'boolean' }],
    ['LowCardinality(Nullable(String))', { type: 'string', nullable: true }],
    ['FixedString(3)', { type: 'string' }],
    ['UUID', { type: 'string', format: 'uuid' }],
    ['IPv6', { type: 'string', format: 'ipv6' }],
    ['Date', { type: 'string', format: 'date' }],
    ["DateTime64(3, 'UTC')", { type: 'string' }],
    ["Enum8('a' = 1, 'b' = 2)", { type: 'string', enum: ['a', 'b'] }],
    ["Nullable(Enum8('a' = 1))", { type: 'string', enum: ['a', null], nullable: true }],
    ['Array(Array(Int8))', { type: 'array', items: { type: 'array', items: { type: 'integer', format: 'int32' } } }],
    ['Map(String, UInt8)', { type: 'object', additionalProperties: { type: 'integer', format: 'int32', minimum: 0 } }],
    ['Tuple(a String, b Bool)', { type: 'object', properties: { a: { type: 'string' }, b: { type: 'boolean' } } }],
    ['Tuple(String, Bool)', { type: 'array', items: {}, minItems: 2, maxItems: 2 }],
    ['SimpleAggregateFunction(sum, UInt64)', { type: 'integer', minimum: 0 }],
    ['AggregateFunction(count)', { type: 'string' }],
    ['JSON', { type: 'object', additionalProperties: true }],
    ['Nullable(Nothing)', {}],
    ['IntervalDay', {}],
    ['no type at all', {}],
  ] as const) {
    t.same(JSON.parse(JSON.stringify(columnSchema(type))), schema, type)
    t.same(openApiFaults(documentOf([describe([], [{ name: 'c', type }])])), [], type)
  }
})

t.test('an endpoint whose columns are not known has rows of any shape, and names may be any', async (t) => {
  const unknown = documentOf([{ ...describe([]), columns: null, description: '' }])
  t.same(openApiFaults(unknown), [])
  t.same(unknown.paths['/pipes/top.{format}'].get.responses['200'].content['application/x-ndjson'].schema, {
    type: 'object',
    additionalProperties: true,
  })
  t.equal(unknown.paths['/pipes/top.{format}'].post.requestBody, undefined)
  const twice = documentOf([
    describe(
      [{ name: '__proto__', type: 'String', default: null, required: true }],
      [
        { name: '__proto__', type: 'String' },
        { name: 'count()', type: 'UInt64' },
        { name: 'count()', type: 'UInt64' },
      ],
    ),
    { ...describe([]), name: 'other' },
  ])
  t.same(openApiFaults(twice), [])
  t.equal(Object.keys(twice.paths).length, 2)
  t.same(openApiFaults(documentOf([])), [])
})

t.test('the rules find what is wrong', async (t) => {
  const faultsOf = (change: (document: ReturnType<typeof documentOf>) => void) => {
    const document = documentOf([describe([{ name: 'p', type: 'Int8', default: 1 }], [{ name: 'c', type: 'String' }])])
    change(document)
    return openApiFaults(document).join()
  }
  const path = '/pipes/top.{format}'
  for (const [change, fault] of [
    [(d) => delete d.info, /has no info/],
    [(d) => (d.paths['x'] = {}), /begin with a slash/],
    [(d) => d.paths[path].parameters.push(d.paths[path].parameters[0]), /twice/],
    [(d) => (d.paths[path].parameters = []), /other path parameters/],
    [(d) => (d.paths[path].post.operationId = 'top'), /operationId of another/],
    [(d) => (d.paths[path].get.parameters[0].schema.default = 'a'), /is no integer/],
    [(d) => (d.paths[path].get.parameters[0].schema.type = 'int'), /has no type/],
    [(d) => (d.paths[path].get.responses.default.$ref = '#/components/responses/None'), /refers to nothing/],
    [(d) => (d.paths[path].get.extra = 1), /unknown field extra/],
    [(d) => (d.components.schemas.Error.required = ['none']), /requires none/],
  ] satisfies readonly (readonly [Parameters<typeof faultsOf>[0], RegExp])[]) {
    t.match(faultsOf(change), fault)
  }
})
