/** Raised when an invariant of our own does not hold. Never caught to be hidden. */
export class InvariantError extends Error {
  override readonly name = 'InvariantError'
}

/**
 * States an invariant of our own code; callers' mistakes use `errors` instead.
 *
 * @throws InvariantError when `condition` is false.
 */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new InvariantError(message)
}
