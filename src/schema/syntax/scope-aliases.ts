import type { QueryScope } from './parsed-query.types.ts'

/** Whether a name is given to an expression that is seen in a scope, or to a lambda. */
export function findAlias(
  scopes: readonly QueryScope[],
  from: number,
  name: string,
): 'expression' | 'lambda' | undefined {
  for (let scope = scopes[from]; scope !== undefined; scope = scopes[scope.parent]) {
    const found = scope.aliases.get(name)
    if (found !== undefined) return found.isLambda ? 'lambda' : 'expression'
  }
  return undefined
}
