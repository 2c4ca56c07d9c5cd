import type { ReadRules, ReadScope } from '../sql/read-scope.types.ts'

/** Makes a read scope. Only this module and tests do; every other module is handed the scopes that it reads with. */
export function createReadScope(rules: ReadRules): ReadScope {
  // The brand has no value: it says that the rules were made here.
  return rules as ReadScope
}
