import { errors } from '../shared/errors/errors.ts'
import { TemplateError } from '../template/template-error.ts'

/**
 * What the caller is told of a template that is wrong, or was given wrong values. All else passes unchanged.
 *
 * @param misspelt what may help where a parameter is missing.
 */
export function toTemplateFailure(thrown: unknown, misspelt?: () => string | undefined): unknown {
  if (!(thrown instanceof TemplateError)) return thrown
  const { message, answer, documentation, hint, cause } = thrown
  const advice = message.includes('Required parameter is not defined') ? misspelt?.() : undefined
  // `error()` and `custom_error()` answer in the words of the template's author, to the byte.
  return errors.TEMPLATE_INVALID({
    message,
    answer: documentation === null ? answer : null,
    hint: hint ?? advice,
    cause,
  })
}
