// What a request says of the data source that a node is to fill, and of filling it with the rows that are there already.

import type { EngineDefinition } from '../../schema/engines/engine-definition.types.ts'
import { errors } from '../../shared/errors/errors.ts'
import type { Parameters } from './parameters.ts'

/** The data source that a node is to fill, as it was asked for. */
export interface TargetOrder {
  /** Name or id. */
  readonly name: string
  /** Null takes one that fits the query. */
  readonly engine: EngineDefinition | null
  readonly isOverridden: boolean
  /** Null fills nothing of the rows that are there. */
  readonly populate: PopulateOrder | null
}

/** @throws PARAMETER_INVALID, REQUEST_INVALID, ENGINE_INVALID, POPULATE_INVALID (400) */
export function readTarget(parameters: Parameters): TargetOrder {
  const name = parameters.text('datasource')
  if (name === undefined) {
    throw errors.REQUEST_INVALID({ reason: 'a materialized node needs "datasource", the Data Source that it fills' })
  }
  const populate = readPopulate(parameters, parameters.flag('populate'))
  return { name, engine: readEngine(parameters), isOverridden: parameters.flag('override_datasource'), populate }
}

/** Of which rows a view is to be made that are there already. */
export interface PopulateOrder {
  /** A part of the rows, between 0 and a tenth; null is all of them. It goes before a condition. */
  readonly subset: number | null
  /** On the rows of the trigger; null is all of them. */
  readonly condition: string | null
  readonly unlinksOnError: boolean
  /** Whether what the data source has goes. */
  readonly truncates: boolean
}

const subsetMax = 0.1

/**
 * @param isAsked whether there is to be one at all.
 * @throws PARAMETER_INVALID, POPULATE_INVALID (400)
 */
export function readPopulate(parameters: Parameters, isAsked: boolean): PopulateOrder | null {
  const unlinksOnError = parameters.flag('unlink_on_populate_error')
  const truncates = parameters.flag('truncate')
  const subset = readSubset(parameters.text('populate_subset'))
  const condition = parameters.text('populate_condition') ?? null
  if (isAsked) return { subset, condition: subset === null ? condition : null, unlinksOnError, truncates }
  for (const parameter of ['populate_subset', 'populate_condition']) {
    if (parameters.text(parameter) === undefined) continue
    throw errors.POPULATE_INVALID({ reason: `"${parameter}" needs populate=true` })
  }
  return null
}

function readSubset(text: string | undefined): number | null {
  // Clients send it so where they mean none.
  if (text === undefined || /^(?:false|none)$/i.test(text)) return null
  const subset = /^\d*\.?\d+(?:e-?\d{1,3})?$/i.test(text) ? Number(text) : Number.NaN
  if (subset > 0 && subset < subsetMax) return subset
  const expected = `a number greater than 0 and lower than ${subsetMax}; ${subsetMax} means 10 percent of the rows`
  throw errors.PARAMETER_INVALID({ parameter: 'populate_subset', value: text, expected })
}

function readEngine(parameters: Parameters): EngineDefinition | null {
  const given = [...parameters.entries()].flatMap(([name, value]) => {
    const [, option] = /^engine_(\w+)$/.exec(name) ?? []
    return option === undefined || value.trim() === '' ? [] : [[option, value.trim()] as const]
  })
  // Made of entries, so that no name means more than a name, as `__proto__` would.
  const options = Object.fromEntries(given)
  const name = parameters.text('engine')
  if (name !== undefined) return { name, options }
  const [option] = Object.keys(options)
  if (option !== undefined) throw errors.ENGINE_INVALID({ reason: `"engine_${option}" needs "engine" beside it` })
  return null
}
