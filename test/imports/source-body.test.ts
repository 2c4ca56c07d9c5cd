import { Readable } from 'node:stream'
import t from 'tap'
import { SourceBody } from '../../src/imports/source-body.ts'
import { bodyOf, cutBodies, textOf } from '../support/imports/import-requests.ts'

t.test('a body is looked at further and further, and then read from its first byte, wherever it is cut', async (t) => {
  const text = 'a,b\n1,2\n3,4\n'
  for (const body of cutBodies(Buffer.from(text))) {
    for (const byteCount of [1, 4, text.length]) {
      const { bytes } = await body.beginning(byteCount)
      t.ok(bytes.length >= byteCount)
      t.equal(text.startsWith(bytes.toString()), true)
    }
    t.same(await body.beginning(100), { bytes: Buffer.from(text), isWhole: true })
    t.equal(await textOf(body), text)
  }
})

t.test('many small pieces are one beginning', async (t) => {
  const text = 'abc'.repeat(2_000)
  const body = bodyOf(...text)
  t.equal((await body.beginning(5_000)).bytes.toString(), text.slice(0, 5_000))
  t.equal(await textOf(body), text)
})

t.test('an empty body is whole, and gives no chunk', async (t) => {
  const body = bodyOf()
  t.same(await body.beginning(1), { bytes: Buffer.alloc(0), isWhole: true })
  let chunkCount = 0
  for await (const _chunk of body) chunkCount += 1
  t.equal(chunkCount, 0)
})

t.test('nothing is asked of a stream before somebody looks', async (t) => {
  let isAsked = false
  const stream = new Readable({
    read() {
      isAsked = true
      this.push(null)
    },
  })
  const body = new SourceBody(stream)
  await new Promise(setImmediate)
  t.notOk(isAsked)
  await body.beginning(1)
  t.ok(isAsked)
})

t.test('a body that fails early fails its reader, behind the bytes that came', async (t) => {
  const failing = async function* () {
    yield Buffer.from('1\n')
    throw new Error('cut')
  }
  const body = new SourceBody(Readable.from(failing(), { objectMode: false }), (cause) => new Error('told', { cause }))
  const { bytes, isWhole } = await body.beginning(100)
  t.same([bytes.toString(), isWhole], ['1\n', false])
  const chunks = body[Symbol.asyncIterator]()
  t.equal(Buffer.from((await chunks.next()).value ?? []).toString(), '1\n')
  await t.rejects(chunks.next(), { message: 'told', cause: { message: 'cut' } })
})

t.test('a stream that fails while nobody reads it tells its reader', async (t) => {
  const stream = new Readable({ read() {} })
  const body = new SourceBody(stream)
  stream.destroy(new Error('gone'))
  await new Promise(setImmediate)
  await t.rejects(textOf(body), { message: 'gone' })
})

t.test('a reader that waits for bytes is told when the body is closed', async (t) => {
  const stream = new Readable({ read() {} })
  const body = new SourceBody(stream)
  const reading = textOf(body)
  await new Promise(setImmediate)
  body.close()
  await t.rejects(reading, { code: 'ERR_STREAM_PREMATURE_CLOSE' })
  t.ok(stream.destroyed)
  body.close()
})

t.test('a reader that leaves early closes the stream', async (t) => {
  const stream = Readable.from([Buffer.from('1'), Buffer.from('2')], { objectMode: false })
  const body = new SourceBody(stream)
  await body.beginning(1)
  for await (const _chunk of body) break
  t.ok(stream.destroyed)
  await t.rejects(body.beginning(1), { name: 'InvariantError' }, 'what is read is not looked at any more')
})
