import t from 'tap'
import { FrameAssembler, FrameBuffers, NdjsonBoundary } from '../../../src/codec/frame-assembler.ts'
import { ImportPlaces } from '../../../src/imports/import-places.ts'
import { recordsOf, refuseManyRows } from '../../../src/ingest/parse/record-body.ts'
import { countLineFeeds, rowsAtOnceMax, tinyLinesMax } from '../../../src/schema/columns/row-weight.ts'
import { parseSchema } from '../../../src/schema/columns/schema-parser.ts'

const limits = { columnsMax: 500 }

function tuple(count: number): string {
  return `a Tuple(${Array.from({ length: count }, (_, index) => `v${index} UInt8`).join(', ')}) \`json:$.a\``
}

t.test('the parts of tuples, arrays and maps count against the columns of a schema', async (t) => {
  t.equal(parseSchema(tuple(500), limits).length, 1)
  for (const schema of [
    tuple(501),
    tuple(15_000),
    `${tuple(499)}, b Map(String, UInt8)`,
    tuple(501).replace('Tuple', 'Array(Tuple').replace(') `', ')) `'),
  ]) {
    t.throws(() => parseSchema(schema, limits), { reason: /more than 500 columns/, message: /parts of tuples/ })
  }
})

t.test('rows of next to nothing in a wide table are cut into frames that fit', async (t) => {
  const columns = parseSchema(Array.from({ length: 500 }, (_, index) => `c${index} UInt8`).join(', '), limits)
  const frameRowsMax = rowsAtOnceMax(columns)
  t.ok(frameRowsMax < 100_000)
  const options = { frameBytes: 1024 * 1024, recordBytesMax: 100_000, frameRowsMax }
  const assembler = new FrameAssembler(options, new NdjsonBoundary(), new FrameBuffers({ ...options, keptMax: 2 }))
  const body = Buffer.from('{}\n'.repeat(300_000))
  const frames = [...assembler.push(body)]
  const last = assembler.end()
  if (last !== null) frames.push(last)
  t.ok(frames.every(({ byteCount }) => byteCount / 3 < frameRowsMax + 16_384))
  t.ok(Buffer.concat(frames.map(({ bytes, byteCount }) => bytes.subarray(0, byteCount))).equals(body))
  const records = recordsOf(body, 'lines')
  t.throws(() => refuseManyRows(records, columns), { code: 'ROWS_TOO_MANY', status: 413 })
  const array = recordsOf(Buffer.from(`[${'{},'.repeat(100_000)}{}]`), 'document')
  t.throws(() => refuseManyRows(array, columns), { code: 'ROWS_TOO_MANY' })
  refuseManyRows(recordsOf(Buffer.from('{}\n'.repeat(1000)), 'lines'), columns)
  refuseManyRows(records, columns.slice(0, 3))
})

t.test('tiny lines are cut into frames that are soon done, and rows into frames that are full', async (t) => {
  const options = { frameBytes: 8 * 1024 * 1024, recordBytesMax: 1024 * 1024 }
  const framesOf = (body: Buffer): readonly Buffer[] => {
    const assembler = new FrameAssembler(options, new NdjsonBoundary(), new FrameBuffers({ ...options, keptMax: 2 }))
    const frames = []
    for (let at = 0; at < body.length; at += 50_000) frames.push(...assembler.push(body.subarray(at, at + 50_000)))
    const last = assembler.end()
    if (last !== null) frames.push(last)
    return frames.map(({ bytes, byteCount }) => Buffer.from(bytes.subarray(0, byteCount)))
  }
  const bodies = [
    Buffer.from('x\n'.repeat(4_000_000)),
    Buffer.from(`${'x\n'.repeat(2000)}${'y'.repeat(9000)}\n`.repeat(1500)),
    Buffer.from(`${'z'.repeat(15_000)}\n${'x\n'.repeat(700)}`.repeat(800)),
  ]
  for (const body of bodies) {
    const frames = framesOf(body)
    const most = Math.max(...frames.map((frame) => countLineFeeds(frame)))
    t.ok(most < 2 * tinyLinesMax, `${most} lines at most`)
    t.ok(Buffer.concat(frames).equals(body))
  }
  t.equal(framesOf(Buffer.from(`${'r'.repeat(49)}\n`.repeat(600_000))).length, 4, 'rows of 50 bytes fill their frames')
})

t.test('a frame begins small and grows to its size', async (t) => {
  const options = { frameBytes: 1024 * 1024, recordBytesMax: 3_000_000 }
  for (const recordBytes of [10, 70_000, 1_500_000]) {
    const assembler = new FrameAssembler(options, new NdjsonBoundary(), new FrameBuffers({ ...options, keptMax: 2 }))
    const body = Buffer.from(`${'x'.repeat(recordBytes - 1)}\n`.repeat(Math.ceil(4_000_000 / recordBytes)))
    const pieces: Uint8Array[] = []
    for (let at = 0; at < body.length; at += 50_000) {
      for (const { bytes, byteCount } of assembler.push(body.subarray(at, at + 50_000))) {
        pieces.push(bytes.subarray(0, byteCount))
      }
    }
    const last = assembler.end()
    if (last !== null) pieces.push(last.bytes.subarray(0, last.byteCount))
    t.ok(Buffer.concat(pieces).equals(body), `records of ${recordBytes} bytes`)
  }
})

t.test('open imports have places, and give each back once', async (t) => {
  const places = new ImportPlaces(2)
  const stopped: string[] = []
  const stop = (name: string) => (reason: Error) => stopped.push(`${name}: ${reason.message}`)
  const leave = places.take(stop('first'), 'a')
  places.take(stop('second'), 'b')
  t.throws(() => places.take(stop('third'), 'c'), { code: 'BODIES_TOO_MANY', status: 503 })
  leave()
  leave()
  places.take(stop('fourth'), 'a')
  t.throws(() => places.take(stop('fifth'), 'c'), { code: 'BODIES_TOO_MANY' })
  places.endAll()
  t.match(stopped, [/^second: The service is shutting down/, /^fourth: /])
  t.equal(stopped.length, 2)
  t.throws(() => places.take(stop('sixth'), 'c'), { code: 'SHUTTING_DOWN' })
})

t.test('one sender has half of the places for imports, and others find the rest', async (t) => {
  for (const [count, share] of [
    [4, 2],
    [5, 3],
  ] as const) {
    const places = new ImportPlaces(count)
    const leaves = Array.from({ length: share }, () => places.take(() => {}, 'a'))
    const mine =
      'Too many request bodies from your address are being received; nothing was done with this one, repeat it later'
    t.throws(() => places.take(() => {}, 'a'), { code: 'BODIES_TOO_MANY', status: 503, message: mine })
    for (let left = count - share; left > 0; left -= 1) places.take(() => {}, 'b')
    const all = 'Too many request bodies are being received; nothing was done with this one, repeat it later'
    t.throws(() => places.take(() => {}, 'c'), { code: 'BODIES_TOO_MANY', message: all })
    for (const leave of leaves) leave()
    places.take(() => {}, 'c')
    places.take(() => {}, 'a')
  }
})
