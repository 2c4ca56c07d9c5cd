// Rows in = stored + quarantined + invalid − short, whatever a body holds and however it ends.

import { gzipSync } from 'node:zlib'
import { compress } from '@mongodb-js/zstd'
import t, { type Test } from 'tap'
import type { LogFields } from '../../src/observe/logger.ts'
import { mebibyte } from '../../src/shared/bytes.ts'
import { openTestService, severalWorkers } from '../support/api/test-service.ts'
import { byTier, everyNth } from '../support/tier.ts'

// Small frames and inserts: what is stored of a body in its middle shows soon.
const service = await openTestService(t, {
  ...severalWorkers,
  decompressedBytesMax: 2 * mebibyte,
  frameBytes: 64 * 1024,
  insertBytesMax: 64 * 1024,
})
const schema = 'n UInt32 `json:$.n`, s String `json:$.s`'

interface Counts {
  readonly stored: number
  readonly quarantined?: number
  readonly invalid?: number
  /** Lines that count in both of the two before. */
  readonly short?: number
}

/** The body's rows are in the tables as the answer counts them. */
async function checkCounts(t: Test, json: unknown, { stored, quarantined = 0, invalid = 0, short = 0 }: Counts) {
  t.match(json, { imported_rows: stored, quarantine_rows: quarantined, invalid_lines: invalid })
  t.equal(await service.count('rows'), stored, 'rows in the table')
  const setAside = quarantined + invalid - short
  t.equal(await service.count('rows_quarantine'), setAside, 'rows in the quarantine')
  return stored + setAside
}

async function withTable(work: () => Promise<void>): Promise<void> {
  const made = await service.create('rows', schema)
  if (made.status !== 200) throw new Error(made.text)
  await work()
  await service.call('DELETE', '/v0/datasources/rows')
}

const row = '{"n":1,"s":"a"}'
const bodies: readonly (readonly ['csv' | 'ndjson', string, Buffer | string, number, Counts])[] = [
  ['ndjson', 'an empty body', '', 0, { stored: 0 }],
  ['csv', 'an empty body', '', 0, { stored: 0 }],
  ['ndjson', 'blank lines alone', '\n\r\n \t\n\n', 0, { stored: 0 }],
  ['csv', 'blank lines alone', '\n\r\n\n', 0, { stored: 0 }],
  ['csv', 'a header alone', 'n,s', 0, { stored: 0 }],
  ['ndjson', 'no final newline', `${row}\n${row}`, 2, { stored: 2 }],
  ['csv', 'no final newline', '1,a\n2,b', 2, { stored: 2 }],
  ['ndjson', 'blank lines between rows', `\n${row}\r\n\n \n${row}\n\n`, 2, { stored: 2 }],
  ['ndjson', 'a byte order mark', `\ufeff${row}\n`, 1, { stored: 1 }],
  ['csv', 'a byte order mark', '\ufeffs,n\na,1\n', 1, { stored: 1 }],
  ['ndjson', 'NUL bytes', `{"n":1,"s":"a\0b"}\n\0\0\n{"n":2,"s":"a\\u0000b"}\n`, 3, { stored: 1, invalid: 2 }],
  ['csv', 'NUL bytes', '1,a\0b\n\0,c\n', 2, { stored: 1, quarantined: 1 }],
  [
    'ndjson',
    'invalid UTF-8',
    Buffer.from(`${row}\n{"n":2,"s":"\xff"}\n{"n":3,"s":"\xc3\xa9"}\n\xfe\n`, 'latin1'),
    4,
    { stored: 2, invalid: 2 },
  ],
  ['csv', 'invalid UTF-8', Buffer.from('1,\xff\n2,\xc3\xa9\n\xff,b\n', 'latin1'), 3, { stored: 1, quarantined: 2 }],
  [
    'ndjson',
    'lines that are no object',
    `${row}\n[1]\n"x"\nnull\n{"n":1\n{"n":1}}\n{"n":"x","s":"y"}\n`,
    7,
    { stored: 1, quarantined: 1, invalid: 5 },
  ],
  ['csv', 'a line with too few fields', '1,a\n2\n3,c\n', 3, { stored: 2, quarantined: 1, invalid: 1, short: 1 }],
  ['csv', 'a line with too many fields', '1,a\n2,b,c\n3,c\n', 3, { stored: 2, quarantined: 1 }],
  ['csv', 'a quote that is never closed', '1,a\n2,"b\n3,c\n', 3, { stored: 2, quarantined: 1, invalid: 1, short: 1 }],
  ['csv', 'text behind a closing quote', '1,"a"b\n2,c\n', 2, { stored: 1, invalid: 1 }],
  ['csv', 'newlines and quotes in quotes', '1,"a\n""b"""\r\n"2","c"\r\n', 2, { stored: 2 }],
]

t.test('every row of a body is stored or set aside, and counted once', async (t) => {
  const step = byTier({ quick: 2, full: 1, soak: 1 })
  for (const [index, [format, title, body, rowsIn, counts]] of bodies.entries()) {
    // Formats alternate in the list, so every second pair has both ways.
    for (const way of everyNth(['announced', 'chunked'], step, index >> 1)) {
      await t.test(`${title} as ${format}, ${way}`, (t) =>
        withTable(async () => {
          const bytes = typeof body === 'string' ? Buffer.from(body) : body
          const { status, json } = await service.append('rows', format, way === 'chunked' ? streamOf(bytes) : bytes)
          t.equal(status, 200)
          t.equal(await checkCounts(t, json, counts), rowsIn)
        }),
      )
    }
  }
})

t.test('events keep a line that is no object in quarantine, with its text', (t) =>
  withTable(async () => {
    const body = `${row}\nno object\n\n[1]\n{"n":"x","s":"y"}\n{"n":1,"s":"\0"}\n`
    t.match(await service.events('rows', body, { wait: 'true' }), { json: { successful_rows: 1, quarantined_rows: 4 } })
    t.same(
      await service.rows('SELECT n, s, c__error_column, c__error, c__import_id FROM rows_quarantine ORDER BY c__error'),
      [
        ['\\N', '\\N', "['']", "['record is not a JSON object: [1]']", '\\N'],
        ['\\N', '\\N', "['']", "['record is not a JSON object: no object']", '\\N'],
        ['\\N', '\\N', "['']", '[\'record is not a JSON object: {"n":1,"s":"\\0"}\']', '\\N'],
        ['x', 'y', "['n']", "['value \\'x\\' on column \\'n\\' is not UInt32']", '\\N'],
      ],
    )
  }),
)

t.test('a line of 50 MB is refused in clear words, and the rows before it stay', async (t) => {
  const long = Buffer.concat([
    Buffer.from(`${row}\n{"n":2,"s":"`),
    Buffer.alloc(50_000_000, 'x'),
    Buffer.from(`"}\n${row}\n`),
  ])
  for (const format of ['ndjson', 'csv'] as const) {
    await withTable(async () => {
      const body = format === 'ndjson' ? long : Buffer.from(long.toString().replaceAll(row, '1,a'))
      const { status, json } = await service.append('rows', format, body)
      t.equal(status, 413)
      t.match(json, { error: 'A record is longer than 16 MiB', documentation: 'docs/errors.md#record_too_large' })
      t.match(json, { import_id: String, datasource: { name: 'rows' } })
      t.equal(await checkCounts(t, json, { stored: 1 }), 1)
    })
  }
})

t.test('a body that unpacks to too much is stopped at the limit', async (t) => {
  const bomb = Buffer.alloc(64 * mebibyte, `${row}\n`)
  const packed = { gzip: gzipSync(bomb), zstd: await compress(bomb) }
  for (const [encoding, body] of Object.entries(packed)) {
    t.ok(body.length < mebibyte, 'it is small as it is sent')
    await withTable(async () => {
      const headers = { 'content-encoding': encoding }
      const { status, json } = await service.append('rows', 'ndjson', body, { headers })
      t.equal(status, 413, encoding)
      t.match(json, { error: 'The body is larger than 2 MiB when unpacked' })
      const { imported_rows: stored } = json as { readonly imported_rows: number }
      t.ok(stored > 0 && stored <= (2 * mebibyte) / (row.length + 1), `${stored} rows came before the limit`)
      t.equal(await checkCounts(t, json, { stored }), stored)
    })
  }
})

t.test('a body that breaks off while it is unpacked keeps its whole rows', async (t) => {
  const rows = Buffer.from(Array.from({ length: 50_000 }, (_, n) => `{"n":${n},"s":"${(n * 7919) % 1013}"}\n`).join(''))
  const packed = { gzip: gzipSync(rows), zstd: await compress(rows) }
  for (const [encoding, body] of Object.entries(packed)) {
    await withTable(async () => {
      const headers = { 'content-encoding': encoding }
      const { status, json } = await service.append('rows', 'ndjson', body.subarray(0, body.length >> 1), { headers })
      t.equal(status, 400, encoding)
      t.match(json, { error: new RegExp(`^The body is not valid ${encoding}: .`) })
      const { imported_rows: stored } = json as { readonly imported_rows: number }
      t.ok(stored > 0 && stored < 50_000, `${encoding}: ${stored} rows`)
      await checkCounts(t, json, { stored })
    })
  }
  await withTable(async () => {
    const headers = { 'content-encoding': 'gzip' }
    const { status, json } = await service.append('rows', 'ndjson', Buffer.from(row), { headers })
    t.equal(status, 400, 'a body that is not packed at all')
    await checkCounts(t, json, { stored: 0 })
  })
})

t.test('a packing that is not known is refused, and nothing is stored', (t) =>
  withTable(async () => {
    for (const encoding of ['br', 'deflate', 'gzip, gzip']) {
      const call = { headers: { 'content-encoding': encoding } }
      const refusal = { status: 415, json: { error: new RegExp(`^Content-Encoding "${encoding}" is not supported`) } }
      t.match(await service.append('rows', 'ndjson', row, call), refusal)
      t.match(await service.events('rows', row, {}, call), refusal)
    }
    t.equal(await service.count('rows'), 0)
  }),
)

t.test('a Content-Length that is too long or too short loses no whole row, and invents none', async (t) => {
  const path = '/v0/datasources?mode=append&name=rows&format=ndjson'
  await withTable(async () => {
    const client = await service.openRaw()
    t.teardown(() => client.socket.destroy())
    client.send(service.head('POST', path, 'Content-Length: 1000'), `${row}\n${row}\n{"n":`)
    client.socket.end()
    const { status, body } = await client.answer()
    t.equal(status, 400)
    t.match(body, { error: 'The connection ended before the body did' })
    t.equal(await checkCounts(t, body, { stored: 2 }), 2)
  })
  await withTable(async () => {
    const client = await service.openRaw()
    t.teardown(() => client.socket.destroy())
    client.send(service.head('POST', path, `Content-Length: ${2 * row.length + 1}`), `${row}\n${row}\n${row}\n`)
    const { status, body } = await client.answer()
    t.equal(status, 200)
    t.equal(await checkCounts(t, body, { stored: 2 }), 2)
    await client.end()
    t.equal(client.text, '', 'what stands behind is no request, and ends the connection')
  })
})

t.test('a connection that dies leaves whole rows, and their count in the log', async (t) => {
  await service.create('dying', schema)
  const client = await service.openRaw()
  const lines = Array.from({ length: 20_000 }, (_, n) => `{"n":${n},"s":"${n % 2 === 0 ? 'even' : 'odd'}"}\n`)
  const path = '/v0/datasources?mode=append&name=dying&format=ndjson'
  client.send(service.head('POST', path, 'Content-Length: 99999999'), Buffer.from(lines.join('')).subarray(0, -5))
  // Once rows of its first frames are stored, the service is in the middle of the body.
  while ((await service.count('dying')) === 0);
  client.socket.resetAndDestroy()
  const isOurs = ({ dataSource }: LogFields): boolean => dataSource === 'dying'
  const { level, fields } = await service.log.until('An import ended early.', isOurs)
  t.equal(level, 'warn')
  t.match(fields, { importId: /^[0-9a-f-]{36}$/, requestId: String, quarantinedRows: 0, invalidLines: 0 })
  const stored = await service.count('dying')
  t.equal(fields['storedRows'], stored)
  t.ok(stored > 0 && stored <= 19_999, `${stored} rows`)
  t.same(await service.rows('SELECT max(n) + 1, uniqExact(n) FROM dying'), [[String(stored), String(stored)]])
})

function streamOf(bytes: Buffer): ReadableStream {
  return new Blob([bytes]).stream()
}
