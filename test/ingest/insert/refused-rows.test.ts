import t from 'tap'
import { insertFailureKind } from '../../../src/ingest/insert/insert-failure.ts'
import { findRefusedRows, type RowTrials } from '../../../src/ingest/insert/refused-rows.ts'
import { circumstanceCodes, serviceFaultCodes, unclearCodes } from '../../../src/store/engine-codes.ts'
import { StoreError } from '../../../src/store/store-error.ts'

function failure(clickhouseCode: number, message = 'no'): StoreError {
  return new StoreError({ kind: 'engine', message, clickhouseCode })
}

/** Refuses pieces with any of the bad rows in them. */
function trialsOf(bad: (row: number) => boolean, code: number, more: Partial<RowTrials> = {}) {
  const pieces: number[] = []
  const insert = async (rows: readonly number[]): Promise<void> => {
    pieces.push(rows.length)
    if (rows.some(bad)) throw failure(code)
  }
  return { pieces, trials: { insert, insertBlank: async () => undefined, ...more } }
}

const rowsOf = (count: number): readonly number[] => Array.from({ length: count }, (_, row) => row)

t.test('each code is either of the engine, or a row can bring it about', async (t) => {
  const kinds = [36, 44, 48, 62, 6, 27, 42, 43, 128, 131, 153, 407, 427].map((code) => insertFailureKind(failure(code)))
  t.same([...new Set(kinds)], ['rows'])
  for (const code of [...serviceFaultCodes, ...circumstanceCodes]) {
    if (!unclearCodes.has(code)) t.equal(insertFailureKind(failure(code)), 'engine', `${code}`)
  }
  for (const code of unclearCodes) t.equal(insertFailureKind(failure(code)), 'unclear', `${code}`)
  for (const code of [60, 241, 243, 252, 394]) t.equal(insertFailureKind(failure(code)), 'engine', `${code}`)
  for (const code of [159, 160]) t.equal(insertFailureKind(failure(code)), 'costly', `${code}`)
  t.equal(insertFailureKind(failure(241, 'Query memory limit exceeded: would use 1.00 GiB')), 'costly')
  t.equal(insertFailureKind(failure(241, '(total) memory limit exceeded: would use 1.00 GiB')), 'engine')
  t.equal(insertFailureKind(failure(159, 'Timeout exceeded: while pushing to view v')), 'view')
  t.equal(insertFailureKind(new StoreError({ kind: 'engine', message: 'no code' })), 'engine')
  t.equal(insertFailureKind(failure(36, 'x: while pushing to view v')), 'view')
  t.equal(
    insertFailureKind(new StoreError({ kind: 'engine', message: '', clickhouseCode: 1001, diskFault: 'full' })),
    'engine',
  )
  const ofSystem = 'no, errno: 24, strerror: Too many open files. (CANNOT_PARSE_TEXT)'
  t.equal(insertFailureKind(failure(6, ofSystem)), 'engine')
  t.equal(insertFailureKind(new StoreError({ kind: 'closed', message: '' })), 'closed')
})

t.test('each bad row is found alone, in a number of trials that grows with its logarithm', async (t) => {
  const { trials, pieces } = trialsOf((row) => row === 7_777, 36)
  t.same(await findRefusedRows(trials, rowsOf(10_000)), [7_777])
  t.ok(pieces.length <= 2 * 14 + 1, `${pieces.length} trials`)
  const fifty = trialsOf((row) => row % 200 === 13, 62)
  t.equal((await findRefusedRows(fifty.trials, rowsOf(10_000))).length, 50)
})

t.test(
  'a definition that refuses everything, and bad rows everywhere, end in a bounded number of trials',
  async (t) => {
    const all = trialsOf(() => true, 44)
    t.equal((await findRefusedRows(all.trials, rowsOf(100_000))).length, 100_000)
    t.ok(all.pieces.length <= 302, `${all.pieces.length} trials`)
    const third = trialsOf((row) => row % 3 === 0, 36)
    const found = await findRefusedRows(third.trials, rowsOf(9_000))
    t.ok(third.pieces.length <= 1_002, `${third.pieces.length} trials`)
    t.equal(new Set(found).size, found.length)
    for (let row = 0; row < 9_000; row += 3) if (!found.includes(row)) t.fail(`row ${row} is not set aside`)
  },
)

t.test('an error that may be of the engine is of the rows when another row is taken, or a blank one', async (t) => {
  const one = trialsOf((row) => row === 2, 49, { insertBlank: () => Promise.reject(failure(49)) })
  t.same(await findRefusedRows(one.trials, rowsOf(5)), [2])
  const alone = trialsOf(() => true, 1001)
  t.same(await findRefusedRows(alone.trials, [0]), [0])
  const engine = trialsOf(() => true, 1001, { insertBlank: () => Promise.reject(failure(1001)) })
  await t.rejects(findRefusedRows(engine.trials, rowsOf(5)), failure(1001))
})

t.test('a fault of the engine ends the search at once', async (t) => {
  const { trials, pieces } = trialsOf(() => true, 241)
  await t.rejects(findRefusedRows(trials, rowsOf(100)), failure(241))
  t.equal(pieces.length, 1)
})
