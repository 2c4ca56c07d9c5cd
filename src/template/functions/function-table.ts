import { dateFunctions } from './date-functions.ts'
import type { TemplateFunction } from './function-call.ts'
import { pythonFunctions } from './python-functions.ts'
import { queryFunctions } from './query-functions.ts'
import { sqlFunctions } from './sql-functions.ts'
import { typedFunctions } from './typed-functions.ts'

/**
 * Everything that a template can call by name. Where a new one goes: what Python has to `python-functions`, what compares dates to
 * `date-functions`, what prints SQL to `sql-functions`, what refuses the query or sets something for it to
 * `query-functions`, what gives a parameter its type to `typed-functions`; methods of values are in `methods`.
 */
export const templateFunctions: ReadonlyMap<string, TemplateFunction> = new Map([
  ...pythonFunctions,
  ...dateFunctions,
  ...sqlFunctions,
  ...queryFunctions,
  ...typedFunctions,
])
