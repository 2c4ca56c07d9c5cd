// Lines of service rows, as the engine takes them: what it refuses costs the rows of a whole batch.

import t from 'tap'
import { LogSecrets } from '../../src/observe/log-secrets.ts'
import { rowLine } from '../../src/service-rows/row-line.ts'
import { RowSecrets } from '../../src/service-rows/row-secrets.ts'
import { ServiceRecorder } from '../../src/service-rows/service-recorder.ts'
import { openEmbeddedStore } from '../../src/store/embedded/embedded-store.ts'
import { type ServiceTableName, serviceTableInEngine } from '../../src/store/sql/service-tables.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from '../support/store/test-store.ts'

const half = '\ud83d'
const otherHalf = '\ude00'

t.test('halves of characters become characters that the engine takes, and nothing else is changed', async (t) => {
  for (const [text, expected] of [
    ['plain', 'plain'],
    ['😀', '😀'],
    [`a${half}`, 'a\ufffd'],
    [`${otherHalf}a`, '\ufffda'],
    [`${half}${half}`, '\ufffd\ufffd'],
    [`\\${half}`, '\\\ufffd'],
    [`\\\\${half}`, '\\\\\ufffd'],
    ['\\ud83d', '\\ud83d'],
    ['\\\\ud83d', '\\\\ud83d'],
    ['\n\\ud83d"', '\n\\ud83d"'],
    ['\ufeff\u0000\u2028', '\ufeff\u0000\u2028'],
  ] as const) {
    const line = rowLine('limits_log', { resource: text, [text]: 1 })
    t.strictSame(JSON.parse(line), { resource: expected, [expected]: 1 }, `a text of ${text.length}`)
  }
})

t.test('numbers are within the range of their columns', async (t) => {
  const numbers = [Number.NaN, -1, 1.5, 2 ** 53, 1e300, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  const told = (column: string): readonly unknown[] =>
    numbers.map((value) => {
      const row: unknown = JSON.parse(rowLine('pipe_stats_rt', { [column]: value }))
      return (row as Readonly<Record<string, unknown>>)[column]
    })
  t.strictSame(told('read_bytes'), [0, 0, 1, 2 ** 53 - 1, 2 ** 53 - 1, 2 ** 53 - 1, 0])
  t.strictSame(told('error'), [0, 0, 1, 255, 255, 255, 0])
  t.strictSame(told('status_code'), [0, -1, 1, 2 ** 31 - 1, 2 ** 31 - 1, 2 ** 31 - 1, -(2 ** 31)])
  t.strictSame(told('start_datetime'), [0, 0, 1, 2 ** 32 - 1, 2 ** 32 - 1, 2 ** 32 - 1, 0])
  t.strictSame(told('duration'), [0, -1, 1.5, 2 ** 53, 1e300, Number.MAX_VALUE, -Number.MAX_VALUE])
})

t.test('the engine takes rows of whatever texts and numbers', async (t) => {
  const directory = await createTestDirectory()
  const store = await openEmbeddedStore(testStoreOptions(directory.path), silentLogger)
  t.teardown(async () => {
    await store.close()
    await directory.remove()
  })
  await store.serviceTables.prepare({ requests: 7, totals: 90, operations: 30 })
  const lines = new Map<ServiceTableName, string[]>()
  const writer = {
    droppedCount: 0,
    wake: () => undefined,
    add: (table: ServiceTableName, line: string) => void lines.set(table, [...(lines.get(table) ?? []), line]),
  }
  const recorder = new ServiceRecorder(writer, new RowSecrets(new LogSecrets()))
  const nowMs = Date.now()
  for (const text of ['plain', half, `${otherHalf}\\${half}`, '\u0000\u001a\\N\\0', '"\'`\n\r\t{}[],:', '\ufeff\uffff'])
    for (const value of [0, Number.NaN, -1, 0.5, 2 ** 53, 2 ** 64, 1e300, Number.POSITIVE_INFINITY]) {
      const source = { id: text, name: text }
      const times = { atMs: value * 1000, startedAtMs: value * 1000, createdAtMs: value, updatedAtMs: value }
      recorder.request({
        ...{
          requestId: text,
          pipeId: text,
          pipeName: text,
          durationMs: value,
          url: text,
          parameters: { [text]: text },
        },
        ...{
          method: text,
          statusCode: value,
          error: text,
          tokenId: text,
          tokenName: text,
          isJwt: false,
          userAgent: text,
        },
        ...{ readRows: value, readBytes: value, resultRows: value, ...times },
      })
      recorder.operation({
        ...{ eventType: text, dataSource: source, elapsedMs: value, error: text, rows: value, quarantinedRows: value },
        ...{ readBytes: value, blockIds: [text], options: { [text]: text }, pipe: source, ...times },
      })
      recorder.block({
        ...{ importId: text, jobId: text, requestId: text, source: text, blockId: text, status: text, parser: text },
        ...{ dataSource: source, rows: value, quarantinedLines: value, emptyLines: value, bytes: value },
        ...{ elapsedMs: value, ...times },
      })
      const subject = { ...source, kind: 'pipe' as const }
      recorder.job({ id: text, kind: text, status: text, subject, error: text, details: { [text]: text }, ...times })
      recorder.storage({
        ...times,
        dataSource: source,
        rows: value,
        bytes: value,
        quarantinedRows: value,
        quarantinedBytes: value,
      })
      recorder.token({
        ...times,
        action: text,
        token: source,
        editorId: text,
        editorName: text,
        changedFields: [text],
        scopes: [text],
      })
      recorder.limit({
        ...times,
        limit: text,
        code: text,
        status: value,
        requestId: text,
        tokenId: text,
        tokenName: text,
        resource: text,
      })
    }
  recorder.drain()
  // One of now that is read back.
  recorder.limit({
    atMs: nowMs,
    limit: `x${half}y😀`,
    code: '\u0000',
    status: 1,
    requestId: '',
    tokenId: null,
    tokenName: null,
    resource: null,
  })
  for (const [table, rows] of lines)
    await t.resolves(store.serviceTables.insert({ table, lines: rows.join('\n'), token: table }), `rows of ${table}`)
  t.equal(lines.size, 9, 'there are rows of each table')
  const table = `ws_0001.${serviceTableInEngine('limits_log')}`
  const rows = await store.rows(`SELECT limit_name, error_code FROM ${table} WHERE startsWith(limit_name, 'x')`)
  t.strictSame(rows, [{ limit_name: 'x\ufffdy😀', error_code: '\u0000' }])
})
