/** Compares what a frame became with what the reference says of its records. */
import { isDeepStrictEqual } from 'node:util'
import type { ParseResult } from '../../../../src/codec/parse-task.types.ts'
import type { ColumnDefinition } from '../../../../src/schema/columns/column-definition.types.ts'
import { cellText, readBlock, readQuarantine, wellFormed } from './arrow-cells.ts'
import type { ReferenceOutcome } from './reference-rows.ts'

export interface Expectation {
  readonly columns: readonly ColumnDefinition[]
  /** The outcomes of each body in the frame. */
  readonly bodies: readonly (readonly ReferenceOutcome[])[]
}

/** The first difference as a text, or null when there is none. */
export function firstDifference(result: ParseResult<Uint8Array>, expected: Expectation): string | null {
  return (
    countsDifference(result, expected) ?? blockDifference(result, expected) ?? quarantineDifference(result, expected)
  )
}

function countsDifference(result: ParseResult<Uint8Array>, { bodies }: Expectation): string | null {
  for (const [position, outcomes] of bodies.entries()) {
    const count = (kind: ReferenceOutcome['kind']) => outcomes.filter((outcome) => outcome.kind === kind).length
    const short = outcomes.filter((outcome) => outcome.kind === 'quarantine' && outcome.isShort).length
    const counts = {
      rows: count('row'),
      quarantined: count('quarantine') + count('invalid'),
      invalid: count('invalid') + short,
      short,
    }
    const difference = differenceOf(`counts of body ${position}`, result.bodies[position], counts)
    if (difference !== null) return difference
  }
  return null
}

function blockDifference({ part }: ParseResult<Uint8Array>, { columns, bodies }: Expectation): string | null {
  const rows = part === null ? [] : readBlock(part, columns)
  const expected = bodies.flat().flatMap((outcome) => (outcome.kind === 'row' ? [outcome.cells] : []))
  for (const [row, cells] of expected.entries()) {
    for (const [position, { name, type, typeText }] of columns.entries()) {
      const wanted = type.kind === 'aggregateFunction' ? null : cellText(type, cells[position] ?? null)
      const found = rows[row]?.[position]
      if (found !== wanted) return `row ${row}, ${name} ${typeText}: found ${found} instead of ${wanted}`
    }
  }
  return rows.length === expected.length ? null : `${rows.length} rows instead of ${expected.length}`
}

function quarantineDifference({ quarantinePart }: ParseResult<Uint8Array>, expectation: Expectation): string | null {
  const { columns, bodies } = expectation
  const found = quarantinePart === null ? [] : readQuarantine(quarantinePart, columns.length)
  const expected = bodies.flat().flatMap((outcome) => setAside(outcome, expectation))
  for (const [row, wanted] of expected.entries()) {
    const difference = differenceOf(`quarantined row ${row}`, found[row], wanted)
    if (difference !== null) return difference
  }
  return found.length === expected.length ? null : `${found.length} rows in quarantine instead of ${expected.length}`
}

interface SetAside {
  readonly texts: readonly (string | null)[]
  readonly errorColumns: readonly string[]
  readonly errors: readonly string[]
}

function setAside(outcome: ReferenceOutcome, { columns }: Expectation): readonly SetAside[] {
  switch (outcome.kind) {
    case 'row':
      return []
    case 'quarantine':
      return [
        {
          texts: outcome.texts.map((text) => (text === null ? null : wellFormed(text))),
          errorColumns: outcome.errors.map(({ column }) => column),
          errors: outcome.errors.map(({ reason }) => wellFormed(reason)),
        },
      ]
    case 'invalid':
      return [{ texts: columns.map(() => null), errorColumns: [''], errors: [outcome.reason] }]
  }
}

function differenceOf(subject: string, found: unknown, wanted: object): string | null {
  if (isDeepStrictEqual(found, wanted)) return null
  return `${subject}: found ${JSON.stringify(found)} instead of ${JSON.stringify(wanted)}`
}
