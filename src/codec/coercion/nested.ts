/** Array, Map and Tuple: their elements are judged one by one, and one that does not fit refuses the whole. */
import { isNullable } from '../../schema/types/column-type.ts'
import type { TupleField } from '../../schema/types/column-type.types.ts'
import type { Cell, RawValue, Verdict } from '../cell.types.ts'
import { type NestedValue, nestedValue } from './nested-text.ts'
import { accepted, type Coercion, refused } from './verdict.ts'

export function arrayCoercion(judgeElement: Coercion): Coercion {
  return (value) => {
    const array = nestedValue(value)
    if (array?.kind !== 'array' || isTupleText(array)) return refused
    const cells: Cell[] = []
    for (const item of array.items) {
      const verdict = judgeElement(item)
      if (!verdict.isAccepted) return refused
      cells.push(verdict.cell)
    }
    return accepted(cells)
  }
}

/** Keys are judged as texts, so that `{"1": …}` is a map of integers. The cell is a list of `[key, value]`. */
export function mapCoercion(judgeKey: Coercion, judgeValue: Coercion): Coercion {
  return (value) => {
    const object = nestedValue(value)
    if (object?.kind !== 'object') return refused
    const pairs: Cell[] = []
    for (const [text, entry] of object.entries) {
      const key = judgeKey({ kind: 'string', text })
      const cell = judgeValue(entry)
      if (!key.isAccepted || !cell.isAccepted) return refused
      pairs.push([key.cell, cell.cell])
    }
    return accepted(pairs)
  }
}

interface FieldPlan {
  readonly name: string | null
  readonly judge: Coercion
  readonly isNullable: boolean
}

/** By position from an array; a tuple with names also by name from an object, where unknown keys are ignored. */
export function tupleCoercion(
  fields: readonly TupleField[],
  createCoercion: (field: TupleField) => Coercion,
): Coercion {
  const plans = fields.map((field) => ({
    name: field.name,
    judge: createCoercion(field),
    isNullable: isNullable(field.type),
  }))
  return (value) => {
    const nested = nestedValue(value)
    if (nested === undefined) return refused
    if (nested.kind === 'array') return nested.items.length === plans.length ? judgeItems(plans, nested.items) : refused
    return judgeItems(
      plans,
      plans.map(({ name }) => (name === null ? undefined : nested.entries.get(name))),
    )
  }
}

/** A field that is missing becomes NULL where the field's type can hold it. */
function judgeItems(plans: readonly FieldPlan[], items: readonly (RawValue | undefined)[]): Verdict {
  const cells: Cell[] = []
  for (const [position, plan] of plans.entries()) {
    const item = items[position]
    if (item === undefined && !(plan.isNullable && plan.name !== null)) return refused
    const verdict = item === undefined ? accepted(null) : plan.judge(item)
    if (!verdict.isAccepted) return refused
    cells.push(verdict.cell)
  }
  return accepted(cells)
}

function isTupleText(value: NestedValue): boolean {
  return value.text.startsWith('(')
}
