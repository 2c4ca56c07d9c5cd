// The definitions of a workspace as an archive, and the same workspace made of it again.

import { strFromU8, unzipSync } from 'fflate'
import t from 'tap'
import { readDataSourceFile, readPipeFile } from '../support/api/datafiles.ts'
import { engineCases } from '../support/api/engine-cases.ts'
import { openTestService } from '../support/api/test-service.ts'
import { typeCases } from '../support/api/type-cases.ts'

const service = await openTestService(t)

async function project(): Promise<ReadonlyMap<string, string>> {
  const response = await fetch(`${service.address}/v0/project.zip`, {
    headers: { authorization: 'Bearer p.test.token' },
  })
  t.equal(response.status, 200)
  t.equal(response.headers.get('content-type'), 'application/zip')
  t.match(response.headers.get('content-disposition'), /filename="project\.zip"/)
  const files = unzipSync(new Uint8Array(await response.arrayBuffer()))
  return new Map(Object.entries(files).map(([path, bytes]) => [path, strFromU8(bytes)]))
}

/** What a data source or pipe is, without ids and times. */
async function shapeOf(path: string): Promise<object> {
  const name = /\/(\w+)\./.exec(path)?.[1] ?? ''
  // The shapes are what other tests check.
  if (path.endsWith('.datasource')) {
    const { json } = await service.call('GET', `/v0/datasources/${name}`)
    const { description, engine, indexes, schema, type } = json as Record<string, unknown>
    return { name, description, engine, indexes, schema, type }
  }
  const { json } = await service.call('GET', `/v0/pipes/${name}`)
  const { description, type, endpoint, nodes } = json as { nodes: Record<string, unknown>[] } & Record<string, unknown>
  const published = nodes.findIndex(({ id }) => id === endpoint)
  const shown = nodes.map((node) => ({
    name: node['name'],
    sql: node['sql'],
    about: node['description'],
    reads: node['dependencies'],
  }))
  return { name, description, type, published, shown }
}

async function create(path: string, text: string): Promise<number> {
  const name = /\/(\w+)\./.exec(path)?.[1] ?? ''
  if (path.endsWith('.datasource')) return (await service.create(name, '', readDataSourceFile(text))).status
  const body = JSON.stringify({ name, ...readPipeFile(text) })
  return (await service.call('POST', '/v0/pipes', { body, headers: { 'content-type': 'application/json' } })).status
}

/** Makes all of a project, whatever order its files stand in. */
async function createAll(files: ReadonlyMap<string, string>): Promise<void> {
  let left = [...files]
  while (left.length > 0) {
    const refused: typeof left = []
    for (const [path, text] of left) if ((await create(path, text)) !== 200) refused.push([path, text])
    if (refused.length === left.length) throw new Error(`${refused[0]?.[0]}: ${refused[0]?.[1]}`)
    left = refused
  }
}

async function dropAll(files: ReadonlyMap<string, string>): Promise<void> {
  for (const path of [...files.keys()].reverse()) {
    const [, name = '', kind] = /\/(\w+)\.(\w+)/.exec(path) ?? []
    const { status } = await service.call(
      'DELETE',
      `/v0/${kind === 'pipe' ? 'pipes' : 'datasources'}/${name}?force=true`,
    )
    t.equal(status, 204, path)
  }
}

t.test('an empty workspace is an archive without files, and each of its readers needs a token', async (t) => {
  t.same([...(await project())], [])
  t.equal((await service.call('GET', '/v0/project.zip', { token: null })).status, 403)
  t.equal((await service.call('GET', '/v0/project.zip', { token: 'wrong' })).status, 403)
  t.equal((await service.call('POST', '/v0/project.zip')).status, 405)
})

t.test('data sources of all engines, types and attributes are the same again', async (t) => {
  for (const [name, { schema, parameters }] of Object.entries(engineCases))
    await service.create(name, schema, parameters)
  const types = typeCases.map(([type], index) => `c${index} ${type}`)
  const odd = {
    wide: [[...types, 'visits AggregateFunction(count)', 'states AggregateFunction(uniq, String)'].join(', '), {}],
    pathed: [
      "a Int32 `json:$.x.a` CODEC(Delta, LZ4), s LowCardinality(String) `json:$.s` DEFAULT concat('\"', ','), list Array(String) `json:$.l[:]`, whole String `json:$`, `odd \"name\" é` UInt8 `json:$.o`",
      {
        engine: 'ReplacingMergeTree',
        engine_ver: 'a',
        engine_sorting_key: "s,\n concat(s, '\"')",
        description: 'First\n\n  third\nSCHEMA >\n  `x` Int8',
      },
    ],
    written: [
      "a String DEFAULT concat('x',\n 'y\nz', '\\'', \"b\"), b String, d Date, `ENGINE ` Int8",
      {
        engine_sorting_key: '"a", b',
        engine_ttl: '\n  d +\n toIntervalDay(1)',
        indexes: "i lower(a)\n TYPE set(10)\n GRANULARITY 2\n j (a, concat(b, '\n')) TYPE bloom_filter(0.01)",
      },
    ],
    spaced: ['n Int8, insertion_date Date, __value String', { description: '  \n  indented\n\n' }],
  } as const
  for (const [name, [schema, more]] of Object.entries(odd)) {
    const made = await service.create(name, schema, more)
    t.equal(made.status, 200, `${name}: ${made.text}`)
  }
  await service.events('guessed', '{"id":1,"list":["a"],"deep":{"at":"2026-01-01 00:00:00"}}\n', { wait: 'true' })
  const files = await project()
  const names = [...Object.keys(engineCases), ...Object.keys(odd), 'guessed']
  t.same([...files.keys()].sort(), names.map((name) => `datasources/${name}.datasource`).sort())
  for (const [path, text] of files) {
    const name = /\/(\w+)\./.exec(path)?.[1]
    t.equal((await service.call('GET', `/v0/datasources/${name}.datasource`)).text, text, path)
  }
  const shapes = new Map<string, object>()
  for (const path of files.keys()) shapes.set(path, await shapeOf(path))
  await dropAll(files)
  await createAll(files)
  t.same([...(await project())].sort(), [...files].sort())
  for (const path of files.keys()) {
    const [before, after] = [shapes.get(path), await shapeOf(path)]
    // What stands between the tokens of an expression, and around a description, is nobody's business.
    t.equal(plain(after), plain(before), path)
  }
  await dropAll(files)
})

function plain(shape: object | undefined): string {
  return JSON.stringify(shape)
    .replaceAll(/\\\\n|\\n/g, ' ')
    .replaceAll(/\\"(\w)\\"/g, '`$1`')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/(?<=") | (?=")/g, '')
}

t.test('pipes of all kinds of nodes are the same again', async (t) => {
  await service.create('visits', 'page String, ms UInt32')
  const pipes = {
    plain: [{ name: 'plain_0', sql: 'SELECT page FROM visits' }],
    unpublished: [
      {
        name: 'first',
        sql: '\n  SELECT *\n    FROM visits\n\n  WHERE ms > 0  \n\n',
        description: 'TYPE endpoint\n  NODE x\n',
      },
      { name: 'visits_quarantine', sql: 'SELECT page FROM visits_quarantine' },
    ],
    published: [
      { name: 'all_of_them', sql: "SELECT 'a\n      b\nc' AS text, ms FROM visits" },
      {
        name: 'by_page',
        sql: "%\n{% set limit = 3 %}\nSELECT text, {{ columns('ms', 'text') }} FROM all_of_them\n  WHERE ms > {{UInt32(least, 0, description='at\\nleast')}} LIMIT {{ limit }}",
        type: 'endpoint',
      },
      { name: 'behind', sql: 'SELECT count() AS c FROM by_page' },
    ],
    reading: [{ name: 'reading_0', sql: 'SELECT * FROM published\n-- the end', type: 'endpoint' }],
  }
  for (const [name, nodes] of Object.entries(pipes)) {
    const call = {
      body: JSON.stringify({ name, description: `About\n\n${name}`, nodes }),
      headers: { 'content-type': 'application/json' },
    }
    const made = await service.call('POST', '/v0/pipes', call)
    t.equal(made.status, 200, `${name}: ${made.text}`)
  }
  const files = await project()
  t.same(
    [...files.keys()],
    [
      'datasources/visits.datasource',
      'pipes/plain.pipe',
      'pipes/unpublished.pipe',
      'endpoints/published.pipe',
      'endpoints/reading.pipe',
    ],
  )
  const shapes = new Map<string, object>()
  for (const path of files.keys()) shapes.set(path, await shapeOf(path))
  await dropAll(files)
  await createAll(files)
  t.same([...(await project())].sort(), [...files].sort())
  for (const path of files.keys()) {
    const [before, after] = [shapes.get(path), await shapeOf(path)]
    if (path.includes('unpublished')) t.equal(plain(after), plain(before), path)
    else t.same(after, before, path)
  }
  const text = await service.call('GET', '/v0/pipes/published.json?q=SELECT+any(text)+AS+text+FROM+all_of_them')
  t.match(text, { status: 200 })
  await dropAll(files)
})
