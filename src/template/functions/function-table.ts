import { dateFunctions } from './date-functions.ts'
import type { TemplateFunction } from './function-call.ts'
import { pythonFunctions } from './python-functions.ts'
import { sqlFunctions } from './sql-functions.ts'
import { typedFunctions } from './typed-functions.ts'

/** Everything that a template can call by name. */
export const templateFunctions: ReadonlyMap<string, TemplateFunction> = new Map([
  ...pythonFunctions,
  ...dateFunctions,
  ...sqlFunctions,
  ...typedFunctions,
])
