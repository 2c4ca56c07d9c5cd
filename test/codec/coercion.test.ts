import t from 'tap'
import { createCoercion } from '../../src/codec/coercion/coercion.ts'
import { planRefusal } from '../../src/codec/columns/kernel-refusals.ts'
import { missingReason, rawTextOf, reasonOf } from '../../src/codec/columns/row-reason.ts'
import { parseColumnType } from '../../src/schema/types/column-type.ts'
import { coercionTable, rawOf, showCell } from '../support/codec/coercion-table.ts'
import { columnOf } from '../support/codec/reference/random-schema.ts'
import { TestRandom } from '../support/codec/reference/test-random.ts'
import { testSeed } from '../support/seeded-random.ts'

for (const { typeText, cases } of coercionTable) {
  t.test(`${typeText} accepts and refuses what the table says`, async (t) => {
    const judge = createCoercion(parseColumnType(typeText))
    for (const { input, expected } of cases) {
      const verdict = judge(rawOf(input))
      t.equal(verdict.isAccepted ? showCell(verdict.cell) : 'refused', expected, encodeURI(input))
    }
  })
}

t.test('by the first rules texts are read as they were when there were no others', async (t) => {
  const cases: readonly (readonly [string, string, string])[] = [
    ['Date', '"2024"', '2024'],
    ['Date', '"20240101"', '19723'],
    ['Date', '"20240230"', 'refused'],
    ['Date', '"2024-1-1"', 'refused'],
    ['DateTime', '"2024"', '2024'],
    ['DateTime', '"20240101"', '20240101'],
    ['DateTime', '"2024-01-01 00:00:00 UTC"', 'refused'],
    ['DateTime', '"17040672000"', 'refused'],
    ['DateTime64(3)', '"-1"', '-1000n'],
    ['DateTime64(3)', '"170406720012"', '170406720012n'],
    ['Array(DateTime)', '["2024","2024/01/01"]', 'refused'],
    ['Array(DateTime)', '["2024"]', '[2024]'],
    ['JSON(t Date)', '{"t":"2024"}', '"{\\"t\\":\\"1975-07-18\\"}"'],
    ["Enum8('a' = 1)", '"1"', 'refused'],
    ["Enum8('a' = 1)", 'csv "1"', '1'],
    ['Float32', '16777217.000000001', '16777217'],
    ['Float32', '3.4028235677973366e38', 'refused'],
  ]
  for (const [type, input, expected] of cases) {
    const verdict = createCoercion(parseColumnType(type), 1)(rawOf(input))
    t.equal(verdict.isAccepted ? showCell(verdict.cell) : 'refused', expected, `${type} ${encodeURI(input)}`)
  }
})

t.test('a text that the kernel refuses for one of its bytes is refused', async (t) => {
  const seed = testSeed()
  t.comment(`SEED=${seed}`)
  const random = new TestRandom(seed)
  const column = columnOf('y String')
  const characters = [
    ...Array.from({ length: 0x7f }, (_, code) => String.fromCharCode(code)),
    '\u00a0',
    '٣',
    '😀',
    'ı',
    'K',
  ]
  let judged = 0
  for (const { typeText, cases } of coercionTable) {
    const type = parseColumnType(typeText)
    const { possible } = planRefusal({ ...column, type })
    if (possible === null) continue
    const judge = createCoercion(type)
    const isImpossible = (text: string) => Array.from(text).some((character) => !possible.has(character.charCodeAt(0)))
    const accepted = cases
      .map(({ input }) => rawOf(input))
      .filter((raw) => raw.kind === 'string' || raw.kind === 'cell')
    const texts = accepted.flatMap((raw) => [
      raw.text,
      ...characters.map((character) => withOne(random, raw.text, character)),
    ])
    for (const text of texts.filter(isImpossible)) {
      judged += 1
      for (const kind of ['string', 'cell'] as const) {
        const { isAccepted } = judge({ kind, text, isQuoted: false })
        if (isAccepted) t.fail(`${typeText} accepts ${JSON.stringify(text)}`)
      }
    }
  }
  t.ok(judged > 10_000, `${judged} texts`)
})

/** The text with one character put somewhere into it, or in place of another. */
function withOne(random: TestRandom, text: string, character: string): string {
  const at = random.below(text.length + 1)
  return text.slice(0, at) + character + text.slice(at + random.below(2))
}

t.test('deep nesting inside a text ends at a limit instead of the stack', async (t) => {
  const judge = createCoercion(parseColumnType('Array(String)'))
  t.notOk(judge({ kind: 'cell', text: `${'['.repeat(1_000_000)}`, isQuoted: false }).isAccepted)
  t.notOk(judge({ kind: 'cell', text: `['a',${'('.repeat(100_000)}`, isQuoted: false }).isAccepted)
})

t.test('reasons name value, column and type without its wrappers', async (t) => {
  const type = parseColumnType('Nullable(Float32)')
  t.equal(reasonOf({ name: 'abslevel', type }, ''), "value '' on column 'abslevel' is not Float32")
  t.equal(
    reasonOf({ name: 'y', type: parseColumnType('Array(LowCardinality(String))') }, 'x'),
    "value 'x' on column 'y' is not Array(LowCardinality(String))",
  )
  t.equal(reasonOf({ name: 'y', type }, 'x'.repeat(257)), `value '${'x'.repeat(256)}' on column 'y' is not Float32`)
  t.equal(
    reasonOf({ name: 'y', type }, `${'x'.repeat(255)}😀`),
    `value '${'x'.repeat(255)}' on column 'y' is not Float32`,
  )
  t.equal(missingReason({ name: 'y' }), "value is missing on column 'y', which is neither Nullable nor has a DEFAULT")
})

t.test('values stand in quarantine as strings or as source text', async (t) => {
  t.equal(rawTextOf({ kind: 'null' }), null)
  t.equal(rawTextOf(rawOf('"a"')), 'a')
  t.equal(rawTextOf(rawOf('1.50')), '1.50')
  t.equal(rawTextOf(rawOf('[1, 2]')), '[1, 2]')
  t.equal(rawTextOf(rawOf('csv ""')), '')
})
