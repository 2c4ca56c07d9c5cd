import t from 'tap'
import { framePaddingBytes } from '../../../src/codec/frame-assembler.ts'
import { FrameParser } from '../../../src/codec/parse-frame.ts'
import { SmallGroups } from '../../../src/ingest/events/small-groups.ts'
import { schemaPlanOf } from '../../../src/ingest/ingest-plan.ts'
import { type RecordBody, taskOf } from '../../../src/ingest/parse/record-body.ts'
import { currentValueRules } from '../../../src/shared/value-rules.ts'
import { testDataSource } from '../../support/ingest/fake-store.ts'
import { SeededRandom, testSeed } from '../../support/seeded-random.ts'

const groupBytesMax = 16 * 1024
const linesMax = 128
const columnsMax = 64
const groupsBeforeCompiling = 16
const newSchemasMax = 64

const source = testDataSource('n UInt32, at Nullable(DateTime64(3)), tags Array(String)')
const plan = schemaPlanOf(source)
const one = [lines('{"n":1,"tags":[]}')]

function lines(text: string): RecordBody {
  return { bytes: Buffer.from(text), framing: 'lines', rules: currentValueRules }
}

/** Has seen so many groups of the schema that it counts them itself. */
function warmed(schema = plan): SmallGroups {
  const groups = new SmallGroups()
  for (let group = 0; group <= groupsBeforeCompiling; group += 1) groups.count(schema, one)
  return groups
}

t.test('the first groups of a schema are for the workers, the later ones are counted here', async (t) => {
  const groups = new SmallGroups()
  for (let group = 0; group < groupsBeforeCompiling; group += 1) t.equal(groups.count(plan, one), null)
  t.match(groups.count(plan, one), [{ rows: 1, quarantined: 0 }])
  t.match(groups.count(plan, one), [{ rows: 1, quarantined: 0 }])
  t.equal(groups.count({ ...plan, planKey: 'another version' }, one), null)
})

t.test('many schemas in turn are all for the workers: none is compiled for a few events', async (t) => {
  const groups = new SmallGroups()
  for (let round = 0; round < 2 * groupsBeforeCompiling; round += 1) {
    for (let schema = 0; schema <= newSchemasMax; schema += 1) {
      t.equal(groups.count({ ...plan, planKey: `schema ${schema}` }, one), null)
    }
  }
})

t.test('a schema of too many columns, and a group of too many bytes or lines, are for the workers', async (t) => {
  const columnsOf = (count: number) =>
    testDataSource(Array.from({ length: count }, (_, position) => `c${position} Nullable(UInt8)`).join(', '))
  const widest = schemaPlanOf(columnsOf(columnsMax))
  t.match(warmed(widest).count(widest, one), [{ rows: 1 }])
  const wider = schemaPlanOf(columnsOf(columnsMax + 1))
  t.equal(warmed(wider).count(wider, one), null)
  const groups = warmed()
  const rest = groupBytesMax - framePaddingBytes
  for (const byteCount of [rest - 1, rest]) {
    t.match(groups.count(plan, [lines('{"n":1,"tags":[]}'.padEnd(byteCount - 1))]), [{ rows: 1 }], `${byteCount} bytes`)
  }
  t.equal(groups.count(plan, [lines('{"n":1,"tags":[]}'.padEnd(rest))]), null)
  const linesOf = (count: number) => '{"n":1,"tags":[]}\n'.repeat(count)
  for (const count of [linesMax - 1, linesMax]) {
    t.match(groups.count(plan, [lines(linesOf(count))]), [{ rows: count }])
    t.match(groups.count(plan, [...one, lines(linesOf(count - 1).trimEnd())]), [{ rows: 1 }, { rows: count - 1 }])
    const bodies = Array.from({ length: count }, () => lines(linesOf(1)))
    t.equal(groups.count(plan, bodies)?.length, count)
  }
  t.equal(groups.count(plan, [lines(linesOf(linesMax + 1))]), null)
  t.equal(groups.count(plan, [...one, lines(linesOf(linesMax))]), null)
  const bodies = Array.from({ length: linesMax + 1 }, () => lines(linesOf(1)))
  t.equal(groups.count(plan, bodies), null)
})

t.test('bodies are counted here as the workers count them, whatever came before', async (t) => {
  const seed = testSeed()
  t.comment(`SEED=${seed}`)
  const random = new SeededRandom(seed)
  const records = [
    '{"n":1,"at":"2026-01-01 00:00:00.5","tags":["a","b"]}',
    '{"n":"2","at":"01/02/2026","tags":[]}',
    '{"n":-1,"tags":[]}',
    '{"tags":["\\u00e9"],"n":1e3,"more":{"deep":[1]}}',
    '[1]',
    'no record',
    '',
    '{"n":4,"tags":[]',
  ] as const
  const groups = warmed()
  const worker = new FrameParser()
  for (let round = 0; round < 500; round += 1) {
    const framing = random.below(4) === 0 ? 'document' : 'lines'
    const bodies = Array.from({ length: 1 + random.below(8) }, (): RecordBody => {
      const some = Array.from({ length: framing === 'document' ? 1 : random.below(5) }, () => random.pick(records))
      return { bytes: Buffer.from(some.join('\n')), framing, rules: currentValueRules }
    })
    const expected = worker.parse(taskOf(plan, bodies)).bodies
    t.strictSame(groups.count(plan, bodies), expected, bodies.map(({ bytes }) => bytes.toString()).join(' | '))
  }
})
