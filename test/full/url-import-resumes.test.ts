// What an import by URL requests again when it goes on: with ranges nothing of what is stored, but for the beginning of the file.

import zlib from 'node:zlib'
import t from 'tap'
import {
  csvOf,
  jobIdOf,
  ndjsonOf,
  openUrlService,
  reopen,
  storedSumOf,
  sumOf,
  type TestRow,
  testJsonSchema,
  testRows,
  until,
  untilEnded,
} from '../support/imports/url-imports.ts'
import { type Answer, rangeOf } from '../support/remote-server.ts'

/** Blocks that are small against the file. */
const options = { frameBytes: 65_536, insertRowsMax: 10_000, urlPieceBytes: 1024 * 1024, urlImportsMax: 8 }
/** What the beginning of a file that is gone on with may take, its range and what follows it before that is given up. */
const beginningBytesMax = 768 * 1024

/** Counts the bytes that it sends of a file; those behind `heldFrom` only when it is infinite. */
class MeteredFile {
  readonly content: Buffer
  readonly hasRanges: boolean
  heldFrom: number
  /** Of all answers but the first since the last reset. */
  laterEtag = '"one"'
  sentBytes = 0
  /** Where the answers began, in order. */
  readonly starts: number[] = []

  constructor(content: Buffer, { hasRanges = true } = {}) {
    this.content = content
    this.hasRanges = hasRanges
    this.heldFrom = Math.floor(content.length * 0.7)
  }

  reset(): void {
    this.sentBytes = 0
    this.starts.length = 0
    this.heldFrom = Number.POSITIVE_INFINITY
  }

  readonly answer: Answer = (request, response) => {
    const { length } = this.content
    const range = this.hasRanges ? rangeOf(request.headers.range, length) : null
    const { start, end } = range === null || range === 'unsatisfiable' ? { start: 0, end: length - 1 } : range
    const contentRange = range === null ? {} : { 'content-range': `bytes ${start}-${end}/${length}` }
    const etag = this.starts.length === 0 ? '"one"' : this.laterEtag
    const headers = { etag, 'content-length': end + 1 - start, ...contentRange }
    response.writeHead(range === null ? 200 : 206, headers)
    this.starts.push(start)
    void this.#send(response, { start, end })
  }

  async #send(response: Parameters<Answer>[1], { start, end }: { start: number; end: number }): Promise<void> {
    for (let place = start; place <= end; place += 16_384) {
      if (place >= this.heldFrom || response.destroyed) return
      const chunk = this.content.subarray(place, Math.min(place + 16_384, end + 1))
      await new Promise((resolve) => {
        response.once('close', resolve)
        response.write(chunk, resolve)
      })
      this.sentBytes += chunk.length
    }
    response.end()
  }
}

const rows = testRows(120_000)
const plainRows = rows.map(({ id, name }): TestRow => ({ id, name: name.replace('é', 'e') }))
/** The first letter that is no ASCII stands behind what is held at first. */
const lateRows = plainRows.map((row, index) => (index < 100_000 ? row : { ...row, name: `${row.name}ü日本` }))

interface Case {
  readonly rows: readonly TestRow[]
  readonly content: Buffer
  readonly path: string
  readonly hasRanges?: boolean
  /** Whether what is stored is passed over without being requested. */
  readonly isPassedOver: boolean
}

function withoutLastEnd(content: Buffer): Buffer {
  return content.subarray(0, content.length - 1)
}

const cases: Readonly<Record<string, Case>> = {
  csv: { rows, content: csvOf(rows), path: '/rows.csv', isPassedOver: true },
  csv_ascii: { rows: plainRows, content: withoutLastEnd(csvOf(plainRows)), path: '/ascii.csv', isPassedOver: true },
  csv_late: { rows: lateRows, content: csvOf(lateRows), path: '/late.csv', isPassedOver: true },
  ndjson: { rows, content: withoutLastEnd(ndjsonOf(rows)), path: '/rows.ndjson', isPassedOver: true },
  no_ranges: { rows, content: ndjsonOf(rows), path: '/whole.ndjson', hasRanges: false, isPassedOver: false },
  packed: { rows, content: zlib.gzipSync(csvOf(rows), { level: 1 }), path: '/rows.csv.gz', isPassedOver: false },
  array: {
    rows: plainRows,
    content: Buffer.from(JSON.stringify(plainRows)),
    path: '/array.json',
    isPassedOver: false,
  },
}

t.test('what is stored is not requested again where the server has ranges and the file is plain', async (t) => {
  const opened = await openUrlService(t, options)
  const { service, files, start } = opened
  const metered = new Map<string, MeteredFile>()
  const ids = new Map<string, string>()
  for (const [name, { content, path, hasRanges = true }] of Object.entries(cases)) {
    const file = new MeteredFile(content, { hasRanges })
    metered.set(name, file)
    files.set(path, file.answer)
    ids.set(name, jobIdOf(await start({ name, schema: testJsonSchema }, path)))
  }
  for (const [name, id] of ids) {
    await until(service, id, (job) => (job.imported_rows ?? 0) > 60_000)
    t.ok((metered.get(name)?.sentBytes ?? 0) > 0)
  }
  await service.close()
  for (const file of metered.values()) file.reset()
  const again = await reopen(t, opened, options)
  for (const [name, { rows: expected, content, isPassedOver }] of Object.entries(cases)) {
    const job = await untilEnded(again, ids.get(name) ?? '')
    const counts = { rows_read: expected.length, imported_rows: expected.length, quarantine_rows: 0 }
    t.match(job, { status: 'done', ...counts, bytes_read: content.length, progress_percentage: 100 }, name)
    t.same(await storedSumOf(again, name), sumOf(expected), name)
    const { sentBytes = 0, starts = [] } = metered.get(name) ?? {}
    const resumedAt = starts.find((start) => start > beginningBytesMax) ?? 0
    t.comment(`${name}: ${sentBytes} of ${content.length} bytes again, from ${resumedAt} on`)
    if (isPassedOver) {
      t.ok(resumedAt > 0.4 * content.length, `${name} goes on at ${resumedAt}`)
      t.ok(sentBytes <= content.length - resumedAt + beginningBytesMax, `${name}: ${sentBytes} bytes`)
    } else t.ok(sentBytes >= content.length, `${name} is read again`)
  }
})

t.test('a file that is another one by then is not mixed with what is stored', async (t) => {
  const opened = await openUrlService(t, options)
  const { service, files, start } = opened
  const file = new MeteredFile(csvOf(rows))
  files.set('/rows.csv', file.answer)
  const id = jobIdOf(await start({ name: 'a', schema: testJsonSchema }, '/rows.csv'))
  await until(service, id, (job) => (job.imported_rows ?? 0) > 60_000)
  await service.close()
  file.reset()
  // It changes behind the first answer, which brings the beginning.
  file.laterEtag = '"two"'
  const again = await reopen(t, opened, options)
  const job = await untilEnded(again, id)
  t.match(job, { status: 'error', error: /changed while it was imported/ })
  const stored = await again.count('a')
  t.ok(stored > 60_000 && stored < rows.length)
  t.equal(job.imported_rows, stored)
  t.same(await storedSumOf(again, 'a'), sumOf(rows.slice(0, stored)))
})
