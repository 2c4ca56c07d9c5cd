import t from 'tap'
import { FrameParser } from '../../../src/codec/parse-frame.ts'
import { schemaPlanOf } from '../../../src/ingest/ingest-plan.ts'
import { linesOf, withoutLines } from '../../../src/ingest/insert/poison-rows.ts'
import { flagsOf, groupBodies, type RecordBody, recordsOfEntry, taskOf } from '../../../src/ingest/parse/record-body.ts'
import type { ValueRules } from '../../../src/shared/value-rules.ts'
import { toSequence } from '../../../src/wal/sequence.ts'
import type { WalEntry } from '../../../src/wal/wal.types.ts'
import { testDataSource } from '../../support/ingest/fake-store.ts'

function entryOf(text: string, flags: number): WalEntry {
  const counts = { rowCount: 1, quarantinedRowCount: 0 }
  const place = { kind: 'rows', stream: 's', version: 1, sequence: toSequence(1), acceptedAtMs: 0 } as const
  return { ...place, ...counts, encoding: 'identity', flags, payload: Buffer.from(text) }
}

function lines(text: string, rules: ValueRules): RecordBody {
  return { bytes: Buffer.from(text), framing: 'lines', rules }
}

t.test('an entry keeps the rules by which it was counted, beside how it was sent', async (t) => {
  for (const rules of [1, 2] as const) {
    for (const framing of ['lines', 'document'] as const) {
      const { rules: read, framing: readFraming } = await recordsOfEntry(entryOf('{"a":', flagsOf(framing, rules)))
      t.same([read, readFraming], [rules, framing])
    }
  }
  t.equal(flagsOf('lines', 1), 0, 'what versions without rules wrote')
  t.equal((await recordsOfEntry(entryOf('{}', 1))).rules, 1)
  await t.rejects(recordsOfEntry(entryOf('{}', 2 << 1)), /rules 3 for values are not known/)
})

t.test('bodies of several rules in one block are read each by its own, whatever lines are left out', async (t) => {
  const bodies = [
    lines('{"d":"2024"}\n{"d":"2024-1-5"}\n', 1),
    lines('{"d":"2024"}', 1),
    lines('{"d":"2024"}\n{"d":"2024-1-5"}', 2),
    lines('{"d":"2024-01-05"}\n', 1),
  ]
  const plan = schemaPlanOf(testDataSource('d Date'))
  const parser = new FrameParser()
  const countsOf = (of: readonly RecordBody[]) => {
    return groupBodies(of, 1e6).map((group) => {
      const { rowCount, quarantinedRowCount } = parser.parse(taskOf(plan, group))
      return [group[0]?.rules, rowCount, quarantinedRowCount]
    })
  }
  t.same(countsOf(bodies), [
    [1, 2, 1],
    [2, 1, 1],
    [1, 1, 0],
  ])
  t.same(
    linesOf(bodies).map(({ rules }) => rules),
    [1, 1, 1, 2, 2, 1],
  )
  t.same(countsOf(withoutLines(bodies, [])), countsOf(bodies))
  t.same(countsOf(withoutLines(bodies, [0, 3])), [
    [1, 1, 1],
    [2, 1, 0],
    [1, 1, 0],
  ])
  t.same(countsOf(withoutLines(bodies, [3, 4])), [[1, 3, 1]])
})
