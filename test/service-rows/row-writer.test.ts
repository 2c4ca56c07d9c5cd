import t from 'tap'
import { RowWriter } from '../../src/service-rows/row-writer.ts'
import type { ServiceRowBatch } from '../../src/store/service-tables.types.ts'
import { silentLogger } from '../support/store/test-store.ts'

class PassingError extends Error {}

interface Engine {
  readonly batches: ServiceRowBatch[]
  readonly warnings: string[]
  /** What each INSERT does, in order; those behind the last succeed. */
  outcomes: (() => Promise<void>)[]
  /** Refuses each batch that has such a row. */
  refused: RegExp | null
  isReady: boolean
  beforeFlush: () => void
}

function openWriter({ bytesMax = 1_000 } = {}): { readonly writer: RowWriter; readonly engine: Engine } {
  let tokenCount = 0
  const engine: Engine = {
    ...{ batches: [], warnings: [], outcomes: [], refused: null },
    ...{ isReady: true, beforeFlush: () => undefined },
  }
  const writer = new RowWriter(
    // Tests flush by themselves.
    { flushIntervalMs: 600_000, bytesMax },
    {
      insert: async (batch) => {
        engine.batches.push({ ...batch })
        await engine.outcomes.shift()?.()
        if (engine.refused?.test(batch.lines) === true) throw new Error('Cannot parse input')
      },
      mayRepeat: (thrown) => thrown instanceof PassingError,
      isReady: () => engine.isReady,
      beforeFlush: () => engine.beforeFlush(),
      createToken: () => {
        tokenCount += 1
        return `token-${tokenCount}`
      },
      logger: {
        ...silentLogger,
        warn: (fields, message) => engine.warnings.push(`${message} ${JSON.stringify(fields)}`),
      },
    },
  )
  return { writer, engine }
}

function told({ batches }: Engine): readonly (readonly string[])[] {
  return batches.map(({ table, lines, token }) => [table, lines, token])
}

const fails = (error: Error) => (): Promise<void> => Promise.reject(error)

t.test('rows go to their tables, those of one table together, each batch under its own token', async (t) => {
  const { writer, engine } = openWriter()
  writer.add('jobs_log', '{"a":1}')
  writer.add('block_log', '{"b":1}')
  writer.add('jobs_log', '{"a":2}')
  await writer.flush()
  await writer.flush()
  t.strictSame(told(engine), [
    ['jobs_log', '{"a":1}\n{"a":2}', 'token-1'],
    ['block_log', '{"b":1}', 'token-2'],
  ])
})

t.test('rows beyond the bound are dropped and counted, and there is room again behind an INSERT', async (t) => {
  // A row of nine characters takes ten bytes with its line feed.
  const row = '123456789'
  for (const [bytesMax, kept] of [
    [29, 2],
    [30, 3],
    [31, 3],
  ] as const) {
    const { writer, engine } = openWriter({ bytesMax })
    for (let count = 0; count < 4; count += 1) writer.add('jobs_log', row)
    t.equal(writer.droppedCount, 4 - kept, `${bytesMax} bytes`)
    await writer.flush()
    t.equal(engine.batches[0]?.lines.split('\n').length, kept)
    writer.add('jobs_log', row)
    t.equal(writer.droppedCount, 4 - kept)
    await writer.close(1_000)
    t.equal(engine.batches.length, 2)
    t.match(engine.warnings, ['Rows of service data sources were dropped. {"rowCount":1}'])
  }
})

t.test('rows of an INSERT that runs count as long as it runs', async (t) => {
  const { writer, engine } = openWriter({ bytesMax: 20 })
  let end: () => void = () => undefined
  engine.outcomes = [() => new Promise((resolve) => (end = resolve))]
  writer.add('jobs_log', '123456789')
  const flushed = writer.flush()
  writer.add('jobs_log', '123456789')
  writer.add('jobs_log', '123456789')
  t.equal(writer.droppedCount, 1)
  end()
  await flushed
  writer.add('jobs_log', '123456789')
  t.equal(writer.droppedCount, 1)
})

t.test('a batch that fails for the state of the engine comes again under its token, before later ones', async (t) => {
  const { writer, engine } = openWriter()
  engine.outcomes = [fails(new PassingError('it starts again'))]
  writer.add('jobs_log', '{"a":1}')
  await writer.flush()
  writer.add('jobs_log', '{"a":2}')
  await writer.flush()
  t.strictSame(told(engine), [
    ['jobs_log', '{"a":1}', 'token-1'],
    ['jobs_log', '{"a":1}', 'token-1'],
    ['jobs_log', '{"a":2}', 'token-2'],
  ])
  t.equal(writer.droppedCount, 0)
})

t.test('a row that is refused costs no other row, wherever it stands', async (t) => {
  for (const refusedRows of [[0], [3], [7], [0, 7], [2, 3, 4]]) {
    const { writer, engine } = openWriter()
    engine.refused = /bad/
    for (let row = 0; row < 8; row += 1) writer.add('jobs_log', refusedRows.includes(row) ? `bad ${row}` : `row ${row}`)
    writer.add('block_log', 'of another table')
    await writer.flush()
    await writer.flush()
    const kept = engine.batches.filter(({ lines }) => !lines.includes('bad'))
    t.strictSame(
      kept.flatMap(({ lines }) => lines.split('\n')),
      [
        ...[0, 1, 2, 3, 4, 5, 6, 7].flatMap((row) => (refusedRows.includes(row) ? [] : [`row ${row}`])),
        'of another table',
      ],
      `rows ${refusedRows.join()}`,
    )
    const tokens = engine.batches.map(({ token }) => token)
    t.equal(new Set(tokens).size, tokens.length, 'each half has a token of its own')
    t.equal(writer.droppedCount, refusedRows.length)
    const told = engine.warnings.filter((warning) => warning.startsWith('Rows of a service data source could not'))
    t.equal(told.length, 1)
    // Room is given back for all of them.
    for (let row = 0; row < 100; row += 1) writer.add('jobs_log', '123456789')
    t.equal(writer.droppedCount, refusedRows.length)
  }
})

t.test(
  'a half that the engine cannot take now comes again under its token, and none of the others twice',
  async (t) => {
    const { writer, engine } = openWriter()
    engine.refused = /bad/
    for (const row of ['bad', 'a', 'b', 'c']) writer.add('jobs_log', row)
    const succeeds = (): Promise<void> => Promise.resolve()
    // All of them, the first half, `bad`, `a`, the second half.
    engine.outcomes = [succeeds, succeeds, succeeds, succeeds, fails(new PassingError('it starts again'))]
    await writer.flush()
    await writer.flush()
    t.strictSame(
      told(engine).map(([, lines, token]) => `${lines?.replaceAll('\n', ' ')} ${token}`),
      ['bad a b c token-1', 'bad a token-2', 'bad token-4', 'a token-5', 'b c token-3', 'b c token-3'],
    )
    t.equal(writer.droppedCount, 1)
  },
)

t.test('halves that are left at the close are dropped and counted', async (t) => {
  const { writer, engine } = openWriter()
  engine.refused = /bad/
  for (const row of ['a', 'b', 'bad', 'c']) writer.add('jobs_log', row)
  const succeeds = (): Promise<void> => Promise.resolve()
  engine.outcomes = [succeeds, ...Array.from({ length: 9 }, () => fails(new PassingError('it starts again')))]
  await writer.flush()
  await writer.close(1_000)
  t.equal(writer.droppedCount, 4)
})

t.test('a table that takes no row is asked some hundred times for a batch, not for each row', async (t) => {
  const { writer, engine } = openWriter({ bytesMax: 100_000 })
  engine.refused = /row/
  for (let row = 0; row < 5_000; row += 1) writer.add('jobs_log', `row ${row}`)
  await writer.flush()
  t.equal(writer.droppedCount, 5_000)
  t.ok(engine.batches.length > 100)
  t.ok(engine.batches.length <= 420, `${engine.batches.length} INSERTs`)
  writer.add('jobs_log', 'taken')
  await writer.flush()
  t.equal(engine.batches.at(-1)?.lines, 'taken')
})

t.test('a batch that is refused is dropped, and so is one that fails twenty times', async (t) => {
  const { writer, engine } = openWriter()
  engine.outcomes = [fails(new Error('no such column'))]
  writer.add('jobs_log', '{"a":1}')
  await writer.flush()
  t.equal(writer.droppedCount, 1)
  t.match(engine.warnings[0], /Rows of a service data source could not be stored/)
  engine.outcomes = Array.from({ length: 20 }, () => fails(new PassingError('it starts again')))
  writer.add('jobs_log', '{"a":2}')
  for (let count = 0; count < 19; count += 1) await writer.flush()
  t.equal(writer.droppedCount, 1)
  await writer.flush()
  t.equal(writer.droppedCount, 2)
  t.equal(engine.batches.length, 21)
})

t.test('nothing is inserted while the engine takes nothing, and what is left at the close is dropped', async (t) => {
  const { writer, engine } = openWriter()
  engine.isReady = false
  writer.add('jobs_log', '{"a":1}')
  await writer.flush()
  t.equal(engine.batches.length, 0)
  await writer.close(1_000)
  t.equal(engine.batches.length, 0)
  t.equal(writer.droppedCount, 1)
})

t.test('a close waits for an INSERT within its time alone, and has the last rows made', async (t) => {
  const { writer, engine } = openWriter()
  engine.beforeFlush = () => {
    engine.beforeFlush = () => undefined
    writer.add('pipe_stats', '{"last":1}')
  }
  engine.outcomes = [() => new Promise(() => undefined)]
  await writer.close(1)
  t.strictSame(told(engine), [['pipe_stats', '{"last":1}', 'token-1']])
  t.equal(writer.droppedCount, 1)
  writer.add('jobs_log', '{"a":1}')
  t.equal(writer.droppedCount, 2)
})
