import t from 'tap'
import { guessCsvBody, guessRecordsBody } from '../../../src/guess/body-guess.ts'
import { spreadSample } from '../../../src/ingest/bodies/spread-sample.ts'
import { SeededRandom, testSeed } from '../../support/seeded-random.ts'

const rules = { hasTypes: true, columnsMax: 500, delimiter: undefined, escapeCharacter: undefined }
const unknown = { delimiter: undefined, escapeCharacter: undefined }

function spread(text: string, format: 'csv' | 'ndjson' | undefined, sampleBytesMax = 4096) {
  return spreadSample({ bytes: Buffer.from(text), isWhole: true }, { format, csv: unknown, sampleBytesMax })
}

t.test('a short body is its own sample', async (t) => {
  const text = 'a,b\n1,2\n'.repeat(1024)
  t.same(spread(text, 'csv'), { bytes: Buffer.from(text), isWhole: true })
  const longer = `${text}3,4\n`
  t.ok(spread(longer, 'csv').bytes.length < 2 * 4096 + 64)
})

t.test('what comes late in a body is seen too', async (t) => {
  const csv = `n,x,word\n${Array.from({ length: 5000 }, (_, n) => `${n},${n < 4000 ? n : n / 2},${n < 3000 ? 'a' : ''}\n`).join('')}`
  t.equal(
    guessCsvBody({ bytes: Buffer.from(csv).subarray(0, 4096), isWhole: false }, rules)?.schema,
    '`n` Int32, `x` Int32, `word` String',
  )
  t.equal(guessCsvBody(spread(csv, 'csv'), rules)?.schema, '`n` Int32, `x` Float64, `word` Nullable(String)')
  const lines = Array.from({ length: 5000 }, (_, n) => (n < 4500 ? `{"n":${n}}\n` : `{"n":${n}.5,"late":true}\n`)).join(
    '',
  )
  for (const format of ['ndjson', undefined] as const) {
    const guess = guessRecordsBody(spread(lines, format), rules)
    t.equal(guess?.schema, '`n` Float64 `json:$.n`, `late` Nullable(Bool) `json:$.late`')
  }
})

t.test('every record of a sample is one of the body, whatever its cells hold', async (t) => {
  const seed = testSeed()
  t.comment(`SEED=${seed}`)
  const random = new SeededRandom(seed)
  for (const { delimiter, mark } of [
    { delimiter: ',', mark: '"' },
    { delimiter: ';', mark: '"' },
    { delimiter: '\t', mark: '\\' },
    { delimiter: '|', mark: '\\' },
  ]) {
    const cells = ['x', '', '5" pipe', 'a\nb', 'say "x"', '\n\n', 'C:', 'ü,ä;|'] as const
    const quoted = (text: string) => `"${text.replaceAll('"', `${mark}"`)}"`
    const written = (text: string) => (/[\n,;|\t]|^"|say/.test(text) ? quoted(text) : text)
    const records = Array.from({ length: 3000 }, (_, n) => {
      return `${[String(n), ...Array.from({ length: 3 }, () => written(random.pick(cells)))].join(delimiter)}\n`
    })
    const { bytes, isWhole } = spreadSample(
      { bytes: Buffer.from(`id${delimiter}a${delimiter}b${delimiter}c\n${records.join('')}`), isWhole: true },
      { format: 'csv', csv: { delimiter, escapeCharacter: mark }, sampleBytesMax: 4096 },
    )
    t.equal(isWhole, false)
    const text = bytes.toString()
    t.ok(bytes.length > 6000 && bytes.length < 12_000, `${bytes.length} bytes`)
    // Each piece of the sample is a run of records, and each begins with its number.
    let at = text.indexOf('\n') + 1
    let count = 0
    while (at < text.length) {
      const record = records[Number.parseInt(text.slice(at), 10)]
      if (record === undefined || !text.startsWith(record, at)) break
      at += record.length
      count += 1
    }
    t.equal(at, text.length, `${delimiter} ${mark}: ${count} records`)
    t.ok(Number.parseInt(text.slice(text.lastIndexOf('\n29') + 1), 10) > 2900 || count > 300, 'to the end of the body')
  }
})

t.test('a body is walked through once, also where no record ends', (t) => {
  const length = 16 * 1024
  const endless = ['x', '"', '{', "'", '",', '"a"b', '\\"', '"\r', 'a,b\n"']
  for (const start of ['', 'a,b\n1,2\n', 'a,b\n1,2\n'.repeat(500)]) {
    for (const repeated of endless) {
      const whole = Buffer.concat([Buffer.from(start), Buffer.alloc(length, repeated)])
      let readCount = 0
      const bytes = new Proxy(whole, {
        get(target, key) {
          if (typeof key === 'string' && /^\d+$/.test(key)) readCount += 1
          const value: unknown = Reflect.get(target, key, target)
          return typeof value === 'function' ? value.bind(target) : value
        },
      })
      spreadSample({ bytes, isWhole: false }, { format: 'csv', csv: unknown, sampleBytesMax: 512 })
      // Two looks at a byte: at it, and beside a quote at its neighbours.
      t.ok(readCount <= 4 * whole.length, `${JSON.stringify(repeated)}: ${readCount / whole.length} reads a byte`)
    }
  }
  t.end()
})
