/**
 * A schema compiled for scanning: columns under construction, and what the kernel must know of them.
 * Made once per data source version in each worker and used for one frame after the other.
 */

import type { ColumnDefinition } from '../../schema/columns/column-definition.types.ts'
import type { JsonPath } from '../../schema/columns/json-path.types.ts'
import { isNullable, valueTypeOf } from '../../schema/types/column-type.ts'
import { currentValueRules, type ValueRules } from '../../shared/value-rules.ts'
import type { RawValue, Verdict } from '../cell.types.ts'
import { createCoercion } from '../coercion/coercion.ts'
import type { ScanKernel } from '../scan-kernel/scan-kernel.ts'
import type { Column } from './column.ts'
import { KernelPlan } from './kernel-plan.ts'
import { QuarantineBuilder } from './quarantine-builder.ts'
import { createColumn, encodingOf, type ValueEncoding } from './value-encoding.ts'
import { FastReader, planValue, writeValuePlan } from './value-plan.ts'

/** One column of the table that a part fills. */
export interface ColumnPlan {
  readonly definition: ColumnDefinition
  /** The column's name where no path is given. */
  readonly path: JsonPath
  readonly encoding: ValueEncoding
  readonly column: Column
  readonly isNullable: boolean
  readonly hasDefault: boolean
  /** AggregateFunction: the engine fills in the empty state, and no value is ever accepted. */
  readonly isNeverRead: boolean
  readonly coerce: (raw: RawValue) => Verdict
}

export interface ParsePlan {
  readonly columns: readonly ColumnPlan[]
  /** The same for the kernel, with the rows of the part under construction. */
  readonly kernelPlan: KernelPlan
  readonly quarantine: QuarantineBuilder
}

/**
 * Compiles a schema; its columns lie in the kernel's memory until `freePlan`. The kernel's own readers take only what all rules
 * take alike.
 */
export function compilePlan(
  kernel: ScanKernel,
  definitions: readonly ColumnDefinition[],
  rules: ValueRules = currentValueRules,
): ParsePlan {
  const columns = definitions.map((definition, position) => {
    return { ...planColumn(kernel, definition, position), coerce: createCoercion(definition.type, rules) }
  })
  const quarantine = new QuarantineBuilder(kernel, columns.length)
  return {
    columns,
    kernelPlan: new KernelPlan(kernel, columns, quarantine),
    quarantine,
  }
}

export function freePlan(plan: ParsePlan): void {
  plan.kernelPlan.free()
  plan.quarantine.free()
  for (const { column } of plan.columns) column.free()
}

/** Bytes of the plan's buffers, used or not. */
export function planBytes(plan: ParsePlan): number {
  return plan.columns.reduce((total, { column }) => total + column.byteSize, plan.quarantine.byteSize)
}

function planColumn(kernel: ScanKernel, definition: ColumnDefinition, position: number): Omit<ColumnPlan, 'coerce'> {
  const encoding = encodingOf(definition.type)
  const column = createColumn(kernel, encoding)
  const path = definition.jsonPath ?? { keys: [definition.name], element: null }
  const value = planValue(definition.type, column)
  // A value gathered out of the elements of a list is always put together by the exact path.
  const looksIntoElements = path.element !== null && path.element.length > 0
  writeValuePlan(kernel, looksIntoElements ? { ...value, reader: FastReader.none } : value)
  const hasDefault = definition.defaultExpression !== null
  const isNeverRead = valueTypeOf(definition.type).kind === 'aggregateFunction'
  column.write('position', position)
  column.write('isNullable', isNullable(definition.type) ? 1 : 0)
  column.write('hasDefault', hasDefault ? 1 : 0)
  column.write('isNeverRead', isNeverRead ? 1 : 0)
  return {
    definition,
    path,
    encoding,
    column,
    isNullable: isNullable(definition.type),
    hasDefault,
    isNeverRead,
  }
}
