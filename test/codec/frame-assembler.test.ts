import { Buffer } from 'node:buffer'
import t from 'tap'
import { CsvBoundary } from '../../src/codec/csv/csv-boundary.ts'
import { readCsvRecord } from '../../src/codec/csv/csv-cells.ts'
import { type CsvDialect, csvDialect, defaultCsvDialect } from '../../src/codec/csv/csv-dialect.ts'
import {
  type Frame,
  FrameAssembler,
  FrameBuffers,
  framePaddingBytes,
  NdjsonBoundary,
  type RecordBoundary,
} from '../../src/codec/frame-assembler.ts'
import { TestRandom } from '../support/codec/reference/test-random.ts'
import { testSeed } from '../support/seeded-random.ts'

interface Assembly {
  readonly boundary: () => RecordBoundary
  readonly frameBytes: number
  readonly recordBytesMax: number
  readonly buffers: FrameBuffers
}

function assemblyOf(boundary: () => RecordBoundary, frameBytes = 16, recordBytesMax = 1_000): Assembly {
  return { boundary, frameBytes, recordBytesMax, buffers: new FrameBuffers({ frameBytes, keptMax: 4 }) }
}

function assemble(chunks: readonly Uint8Array[], { boundary, buffers, ...limits }: Assembly): readonly Frame[] {
  const assembler = new FrameAssembler(limits, boundary(), buffers)
  const frames = chunks.flatMap((chunk) => assembler.push(chunk))
  frames.push(...assembler.setOpenLinesAside())
  const last = assembler.end()
  return last === null ? frames : [...frames, last]
}

function bytesOf(frames: readonly Frame[]): Buffer {
  return Buffer.concat(frames.map(({ bytes, byteCount }) => bytes.subarray(0, byteCount)))
}

function lines(frames: readonly Frame[]): readonly string[] {
  return frames.flatMap((frame) => bytesOf([frame]).toString().slice(0, -1).split('\n'))
}

function csvRecords(frames: readonly Frame[], dialect: CsvDialect): readonly (readonly string[])[] {
  return frames.flatMap(({ bytes, byteCount }) => {
    const records: string[][] = []
    for (let offset = 0; offset < byteCount; ) {
      const { cells, next } = readCsvRecord(bytes, offset, byteCount, dialect)
      records.push(cells.map(({ text }) => text))
      offset = next
    }
    return records
  })
}

const backslashDialect = csvDialect(';', '\\')
const ndjsonBodies = [
  '{"a":1}\n{"name":"é"}\r\n\n{"b":"😀"}\n',
  '{"a":1}\n{"b":2}',
  '\n\n',
  ' ',
  '{"long":"aaaaaaaaaaaaaaaaaaaaaaaa"}\n{}\n',
]
const csvBodies = [
  'a,b\r\n1,"x\r\ny"\r\n2,"""q"",\n"\r\n\r\n3,é',
  '"a\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n",b\n1,2\n',
  'a"b,6" x\n"",""\n"a""\n""b",c\n',
  '"never closed\n1,2\n',
]

t.test('a body gives the same records wherever the network cuts it', async (t) => {
  const ndjson = assemblyOf(() => new NdjsonBoundary())
  for (const text of ndjsonBodies) {
    const body = Buffer.from(text)
    const whole = text.endsWith('\n') ? text : `${text}\n`
    for (let cut = 0; cut <= body.length; cut += 1) {
      const frames = assemble([body.subarray(0, cut), body.subarray(cut)], ndjson)
      t.same(lines(frames), whole.slice(0, -1).split('\n'), `cut at byte ${cut}`)
      t.equal(bytesOf(frames).toString(), whole, 'the bytes are the same too')
    }
  }
  for (const dialect of [defaultCsvDialect, backslashDialect, csvDialect('→', null)]) {
    const csv = assemblyOf(() => new CsvBoundary(dialect))
    const mark = Buffer.from(dialect.delimiter).toString()
    for (const text of [...csvBodies, 'a;"b\\"\n";c\n"\\\\"\n1;2;3\n']) {
      const body = Buffer.from(text.replaceAll(',', mark))
      const whole = assemble(
        [body],
        assemblyOf(() => new CsvBoundary(dialect), 4_096),
      )
      for (let cut = 0; cut <= body.length; cut += 1) {
        const frames = assemble([body.subarray(0, cut), body.subarray(cut)], csv)
        t.same(csvRecords(frames, dialect), csvRecords(whole, dialect), `cut at byte ${cut}`)
        t.ok(bytesOf(frames).equals(bytesOf(whole)), 'the bytes are the same too')
      }
    }
  }
})

t.test('many small chunks of any size give the same frames as one', async (t) => {
  const seed = testSeed()
  t.comment(`SEED=${seed}`)
  const random = new TestRandom(seed)
  for (let round = 0; round < 300; round += 1) {
    const length = random.between(0, 300)
    const body = Buffer.from(
      Array.from({ length }, () => random.pick(['a', ',', '"', '\n', '\r\n', '""', '"\n"', 'é', '\n"'])).join(''),
    )
    const frameBytes = random.between(1, 40)
    const boundary = random.chance(50) ? () => new CsvBoundary(defaultCsvDialect) : () => new NdjsonBoundary()
    const chunks: Buffer[] = []
    for (let offset = 0; offset < body.length; ) {
      const end = offset + random.between(1, 9)
      chunks.push(body.subarray(offset, end))
      offset = end
    }
    const whole = assemble([body], assemblyOf(boundary, 10_000))
    const frames = assemble(chunks, assemblyOf(boundary, frameBytes))
    const expected = csvRecords(whole, defaultCsvDialect)
    if (boundary() instanceof CsvBoundary) t.same(csvRecords(frames, defaultCsvDialect), expected)
    t.ok(bytesOf(frames).equals(bytesOf(whole)), `${chunks.length} chunks`)
    t.ok(
      frames.every(
        ({ bytes, byteCount }) => bytes[byteCount - 1] === 0x0a && bytes.length >= byteCount + framePaddingBytes,
      ),
      'a frame ends in a line feed and padding',
    )
  }
})

t.test('frames are no larger than asked for, and each has its own bytes', async (t) => {
  const body = Buffer.from('{"a":1}\n'.repeat(100))
  const frames = assemble(
    [body],
    assemblyOf(() => new NdjsonBoundary(), 50),
  )
  t.ok(frames.every(({ byteCount }) => byteCount <= 50))
  t.equal(new Set(frames.map(({ bytes }) => bytes.buffer)).size, frames.length)
  t.equal(bytesOf(frames).toString(), body.toString())
})

t.test('frames that are given back are used again, and what was in them is not seen', async (t) => {
  const assembly = assemblyOf(() => new NdjsonBoundary(), 16)
  const first = assemble([Buffer.from('{"secret":1}\n{"secret":2}\n')], assembly)
  for (const { bytes } of first) assembly.buffers.giveBack(bytes)
  const second = assemble([Buffer.from('{}\n{}')], assembly)
  t.equal(bytesOf(second).toString(), '{}\n{}\n')
  t.ok(
    first.some(({ bytes }) => bytes === second[0]?.bytes),
    'a buffer came back',
  )
  const kept = new FrameBuffers({ frameBytes: 8, keptMax: 1 })
  const [one, two] = [kept.take(8), kept.take(8)]
  kept.giveBack(one)
  kept.giveBack(two)
  kept.giveBack(new Uint8Array(4))
  t.equal(kept.take(8), one)
  t.not(kept.take(8), two, 'no more than keptMax are kept')
})

t.test('buffers that threads share are lost by no body, however it ends', async (t) => {
  const { boundary, buffers, ...limits } = assemblyOf(() => new NdjsonBoundary(), 16, 200)
  const bodies = ['', '{"a":1}\n', '{"a":', `{"long":"${'x'.repeat(50)}"}\n{}\n`, `{"a":"${'x'.repeat(300)}"}`]
  for (let round = 0; round < 20; round += 1) {
    const assembler = new FrameAssembler(limits, boundary(), buffers)
    const body = Buffer.from(bodies[round % bodies.length] ?? '')
    try {
      for (const { bytes } of assembler.push(body)) buffers.giveBack(bytes)
      const last = round % 2 === 0 ? assembler.end() : assembler.flush()
      if (last !== null) buffers.giveBack(last.bytes)
    } catch {
      // The longest body is over the limit, and ends here.
    }
    assembler.close()
  }
  const taken = Array.from({ length: 5 }, () => buffers.take(8))
  t.equal(taken.filter(({ buffer }) => buffer instanceof SharedArrayBuffer).length, 4, 'all of them are still there')
})

t.test('a record is taken at the limit and refused one byte over it', async (t) => {
  const recordBytesMax = 40
  for (const frameBytes of [8, 39, 40, 41, 200]) {
    for (const before of ['', '{}\n', `${'x'.repeat(40)}\n`]) {
      for (const behind of ['', '\n', '\n{}\n']) {
        for (const length of [39, 40]) {
          const body = Buffer.from(before + 'y'.repeat(length) + behind)
          const assembly = assemblyOf(() => new NdjsonBoundary(), frameBytes, recordBytesMax)
          const found = bytesOf(assemble([body], assembly)).toString()
          t.equal(found, `${body.toString().replace(/\n$/, '')}\n`, `${length} bytes, frames of ${frameBytes}`)
        }
        const { boundary, buffers } = assemblyOf(() => new NdjsonBoundary(), frameBytes, recordBytesMax)
        const assembler = new FrameAssembler({ frameBytes, recordBytesMax }, boundary(), buffers)
        const frames: Frame[] = []
        t.throws(
          () => {
            for (const byte of Buffer.from(before + 'y'.repeat(41) + behind))
              frames.push(...assembler.push(Uint8Array.of(byte)))
          },
          { code: 'RECORD_TOO_LARGE' },
        )
        const whole = assembler.flush()
        t.equal(bytesOf(whole === null ? frames : [...frames, whole]).toString(), before, 'whole records stay')
      }
    }
  }
})

t.test('behind a quote that is never closed a body is looked at again, and not without end', async (t) => {
  const frames = assemble(
    [Buffer.from(`"${'\n'.repeat(60)}`)],
    assemblyOf(() => new CsvBoundary(defaultCsvDialect), 16, 40),
  )
  t.equal(bytesOf(frames.slice(0, 1)).toString(), '"\n', 'the line ends its frame')
  // Blanks that escape make each line one more quote that none of the lines behind it closes.
  const hostile = assemblyOf(() => new CsvBoundary(csvDialect(',', ' ')), 4_096, 2_000)
  t.throws(() => assemble([Buffer.from(', "\n'.repeat(10_000))], hostile), { code: 'RECORD_TOO_LARGE' })
})

t.test('a byte order mark in front of the body is left out, wherever it is cut', async (t) => {
  const mark = Buffer.from('\ufeff')
  const body = Buffer.concat([mark, Buffer.from('"a\n",b\n1,2\n')])
  for (let cut = 0; cut <= body.length; cut += 1) {
    for (let second = cut; second <= body.length; second += 1) {
      const chunks = [body.subarray(0, cut), body.subarray(cut, second), body.subarray(second)]
      const frames = assemble(
        chunks,
        assemblyOf(() => new CsvBoundary(defaultCsvDialect), 8),
      )
      t.same(csvRecords(frames, defaultCsvDialect), [
        ['a\n', 'b'],
        ['1', '2'],
      ])
    }
  }
  t.same(
    assemble(
      [mark],
      assemblyOf(() => new NdjsonBoundary()),
    ),
    [],
    'a mark alone is an empty body',
  )
})

t.test('short bodies are framed as they are', async (t) => {
  const cases = { '': '', '\n': '\n', '\n\n': '\n\n', '1': '1\n', '1\n': '1\n', '{}': '{}\n', '\r\n': '\r\n' }
  for (const [body, framed] of Object.entries(cases)) {
    const chunks = [...Buffer.from(body)].map((byte) => Uint8Array.of(byte))
    t.equal(
      bytesOf(
        assemble(
          chunks,
          assemblyOf(() => new NdjsonBoundary()),
        ),
      ).toString(),
      framed,
      JSON.stringify(body),
    )
  }
  t.same(
    [
      ...bytesOf(
        assemble(
          [Uint8Array.of(0xef, 0xbb)],
          assemblyOf(() => new NdjsonBoundary()),
        ),
      ),
    ],
    [0xef, 0xbb, 0x0a],
  )
})

t.test('a body that breaks off gives the whole records so far', async (t) => {
  const { boundary, buffers, ...limits } = assemblyOf(() => new CsvBoundary(defaultCsvDialect), 1_000)
  const assembler = new FrameAssembler(limits, boundary(), buffers)
  assembler.push(Buffer.from('1,2\n3,"a\nb'))
  const frame = assembler.flush()
  t.equal(frame === null ? '' : bytesOf([frame]).toString(), '1,2\n')
})
