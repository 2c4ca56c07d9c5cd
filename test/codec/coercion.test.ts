import t from 'tap'
import { createCoercion } from '../../src/codec/coercion/coercion.ts'
import { missingReason, rawTextOf, reasonOf } from '../../src/codec/row-reason.ts'
import { parseColumnType } from '../../src/shared/column-type.ts'
import { coercionTable, rawOf, showCell } from './coercion-table.ts'

for (const { typeText, cases } of coercionTable) {
  t.test(`${typeText} accepts and refuses what the table says`, async (t) => {
    const judge = createCoercion(parseColumnType(typeText))
    for (const { input, expected } of cases) {
      const verdict = judge(rawOf(input))
      t.equal(verdict.isAccepted ? showCell(verdict.cell) : 'refused', expected, encodeURI(input))
    }
  })
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
