import { Readable } from 'node:stream'
import type { InjectOptions } from 'fastify'
import t, { type Test } from 'tap'
import { createApp } from '../../../src/app.ts'
import { ask, createFakeDeps, limits, token } from '../../support/http/fake-deps.ts'
import { multipart } from '../../support/http/test-form.ts'

const headers = { authorization: `Bearer ${token}` }
const schema = 'id UInt32 `json:$.id`, tag Nullable(String)'

function open(t: Test) {
  const deps = createFakeDeps()
  const app = createApp(deps, limits)
  t.teardown(() => app.close())
  const post = (query: string, payload?: string | Buffer | Readable, more: Record<string, string> = headers) => {
    const request: InjectOptions = { method: 'POST', url: `/v0/datasources${query}`, headers: more }
    return ask(app, payload === undefined ? request : { ...request, payload })
  }
  const create = (name: string) =>
    deps.dataSources.create({ name, description: '', schema, engine: null, type: 'ndjson' })
  return { deps, app, post, create }
}

/** A form as a network brings it, with its type as a header. */
function inPieces({ payload, type }: ReturnType<typeof multipart>) {
  const pieceBytes = 65_536
  const pieces = Array.from({ length: Math.ceil(payload.length / pieceBytes) }, (_, index) =>
    payload.subarray(index * pieceBytes, (index + 1) * pieceBytes),
  )
  const more = { ...headers, 'content-type': type, 'content-length': String(payload.length) }
  return [Readable.from(pieces, { objectMode: false }), more] as const
}

t.test('a multipart form carries parameters, token and rows', async (t) => {
  const { deps, post } = open(t)
  const csv = 'id,tag\r\n1,"--frontier"\r\n2,é\r\n'
  const { payload, type } = multipart([
    { name: 'token', content: token },
    { name: 'name', content: 'a' },
    { name: 'mode', content: 'append' },
    { name: 'schema', content: schema },
    { name: 'csv', fileName: 'data.csv', content: csv },
    { name: 'ignored', content: 'after the file' },
  ])
  const answer = await post('', payload, { 'content-type': type })
  t.equal(answer.statusCode, 200, answer.body)
  t.match(deps.created, [{ name: 'a', schema, type: 'csv' }])
  t.match(deps.loads, [{ text: csv }])
})

t.test('a multipart form without a file creates, and a broken or overlong one is refused', async (t) => {
  const { deps, post } = open(t)
  const fields = [
    { name: 'name', content: 'a' },
    { name: 'schema', content: schema },
  ]
  const whole = multipart(fields)
  t.equal((await post('', whole.payload, { ...headers, 'content-type': whole.type })).statusCode, 200)
  t.equal(deps.loads.length, 0)
  const noBoundary = await post('', whole.payload, { ...headers, 'content-type': 'multipart/form-data' })
  t.equal(noBoundary.statusCode, 400)
  for (let cut = 1; cut < whole.payload.length - 6; cut += 7) {
    const answer = await post('?name=b', whole.payload.subarray(0, cut), { ...headers, 'content-type': whole.type })
    t.equal(answer.statusCode, 400, `cut at byte ${cut}`)
  }
  const long = multipart([{ name: 'description', content: 'x'.repeat(3000) }, ...fields])
  t.equal((await post('', long.payload, { ...headers, 'content-type': long.type })).statusCode, 413)
  const many = multipart([...Array.from({ length: 10 }, () => ({ name: 'x', content: 'y'.repeat(250) })), ...fields])
  t.equal((await post('', many.payload, { ...headers, 'content-type': many.type })).statusCode, 413)
})

t.test('a form that ends inside its file tells how many rows stayed', async (t) => {
  const { deps, post, create } = open(t)
  await create('a')
  const { payload, type } = multipart([{ name: 'csv', fileName: 'a.csv', content: '1,x\n2,y\n' }])
  const answer = await post('?name=a&mode=append', payload.subarray(0, payload.length - 20), {
    ...headers,
    'content-type': type,
  })
  t.equal(answer.statusCode, 400)
  t.match(answer.json(), {
    error: /^The body is not valid multipart form: .*unexpected end/,
    imported_rows: Number,
    datasource: { name: 'a' },
  })
  t.equal(deps.loads.length, 1)
})

t.test('a second file is no silent loss', async (t) => {
  const { deps, post, create } = open(t)
  await create('a')
  const { payload, type } = multipart([
    { name: 'csv', fileName: 'a.csv', content: '1,x\n' },
    { name: 'csv', fileName: 'b.csv', content: '2,y\n' },
  ])
  const answer = await post('?name=a&mode=append', payload, { ...headers, 'content-type': type })
  t.equal(answer.statusCode, 400)
  t.match(answer.json(), { error: /one file/ })
  t.equal(deps.loads.length, 0, 'of a small form it is known before anything is stored')

  const rows = '1,x\n'.repeat(500_000)
  const large = multipart([
    { name: 'csv', fileName: 'a.csv', content: rows },
    { name: 'csv', fileName: 'b.csv', content: '2,y\n' },
  ])
  const late = await post('?name=a&mode=append', ...inPieces(large))
  t.match([late.statusCode, late.json()], [400, { error: /one file/, imported_rows: 500_000 }])
  t.equal(deps.loads[0]?.text, rows)
})

t.test('parameters behind the file are followed, or refused when they come too late', async (t) => {
  const { deps, post } = open(t)
  const after = [
    { name: 'mode', content: 'append' },
    { name: 'name', content: 'behind' },
    { name: 'schema', content: schema },
    { name: 'format', content: 'csv' },
    { name: 'token', content: token },
  ]
  const { payload, type } = multipart([{ name: 'ndjson', content: '1,x\n' }, ...after])
  const answer = await post('', payload, { 'content-type': type })
  t.equal(answer.statusCode, 200, answer.body)
  t.match(deps.created, [{ name: 'behind', schema, type: 'csv' }])
  t.match(deps.loads, [{ text: '1,x\n', request: { format: 'csv' } }])

  const rows = { name: 'csv', fileName: 'a.csv', content: '1,x\n'.repeat(500_000) }
  const large = multipart([rows, { name: 'mode', content: 'append' }, { name: 'other', content: 'x' }])
  const same = await post('?name=behind&mode=append', ...inPieces(large))
  t.match([same.statusCode, same.json()], [200, { imported_rows: 500_000 }], 'it says nothing new')
  const late = multipart([rows, { name: 'name', content: 'elsewhere' }])
  const refused = await post('?name=behind&mode=append', ...inPieces(late))
  t.match(
    [refused.statusCode, refused.json()],
    [400, { error: /^Parameter "name" comes after the file in the form, too late/, imported_rows: 500_000 }],
  )
})

t.test(
  'a form of very many parts is refused before the rest of it is read, and a few hundred parts are taken',
  async (t) => {
    const { deps, post } = open(t)
    const typed = { ...headers, 'content-type': 'multipart/form-data; boundary=b' }
    const empty = '--b\r\nContent-Disposition: form-data; name="x"\r\n\r\n\r\n'
    const shapes = [
      '--b\r\n',
      '--b\r\n\r\n\r\n',
      '--b\r\nContent-Disposition: x\r\n\r\n\r\n',
      '--b\r\nContent-Disposition: form-data; name="csv"; filename="a"\r\n\r\n1\r\n',
    ]
    for (const part of shapes) {
      let pieceCount = 0
      const bring = function* (): Generator<Buffer> {
        for (; pieceCount < 2_000; pieceCount += 1) yield Buffer.from(part.repeat(1_000))
      }
      const more = { ...typed, 'content-length': String(2_000_000 * part.length) }
      const answer = await post('?name=a', Readable.from(bring(), { objectMode: false }), more)
      t.equal(answer.statusCode, 400, part)
      t.match(answer.json(), { error: /more than 400 parts|may have only one file/ })
      t.ok(pieceCount < 1_000, `${pieceCount} pieces were read`)
    }
    const fields = '--b\r\nContent-Disposition: form-data; name="schema"\r\n\r\nid UInt32\r\n'
    for (const part of ['--b\r\n\r\n\r\n', empty]) {
      const name = `taken${deps.created.length}`
      const answer = await post(`?name=${name}`, `${part.repeat(150)}${fields}--b--\r\n`, typed)
      t.equal(answer.statusCode, 200, answer.body)
    }
    t.equal(deps.created.length, 2)
  },
)
