import type { FunctionUse, ParsedQuery } from '../syntax/parsed-query.types.ts'
import { findAlias } from '../syntax/scope-aliases.ts'
import { checkBoundPassed } from './bounded-calls.ts'
import { checkFunction, checkPassedFunction, isAllowedFunction, unknownFunction } from './function-policy.ts'

/**
 * Refuses functions that a text may not call, or hand to another.
 *
 * @throws SqlFault.
 */
export function checkCalls(parsed: ParsedQuery): void {
  const { calls, scopes } = parsed
  for (const call of calls) {
    const { name, scope, isCalled } = call
    const isLambda = (): boolean => findAlias(scopes, scope, name) === 'lambda'
    checkBoundPassed(call)
    if (isCalled) checkFunction(name, isLambda)
    else checkHanded(parsed, call, isLambda)
  }
}

/** A name alone may be that of a column, or of a parameter of a lambda around it. */
function checkHanded(parsed: ParsedQuery, { name, start }: FunctionUse, isLambda: () => boolean): void {
  checkPassedFunction(name)
  if (isAllowedFunction(name) || isLambda() || !isFunctionPlace(parsed, start)) return
  throw unknownFunction(name)
}

// Of these the first argument may be a number, and so a column.
const numberFirst = /^(?:array|map)(?:partial\w*|topk|bottomk)$/i

/** The first of several arguments of a higher-order function is a function. */
export function isFunctionPlace({ calls }: ParsedQuery, start: number): boolean {
  return calls.some(({ name, arguments: given }) => {
    return given.length > 1 && given[0]?.start === start && !numberFirst.test(name)
  })
}
