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
  isReady: boolean
  beforeFlush: () => void
}

function openWriter({ bytesMax = 1_000 } = {}): { readonly writer: RowWriter; readonly engine: Engine } {
  let tokenCount = 0
  const engine: Engine = { batches: [], warnings: [], outcomes: [], isReady: true, beforeFlush: () => undefined }
  const writer = new RowWriter(
    // Tests flush by themselves.
    { flushIntervalMs: 600_000, bytesMax },
    {
      insert: async (batch) => {
        engine.batches.push({ ...batch })
        await engine.outcomes.shift()?.()
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
