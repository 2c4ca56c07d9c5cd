import { errors } from '../shared/errors/errors.ts'
import type { ParameterValue } from '../template/template.types.ts'
import { type TemplateAnswer, TemplateError } from '../template/template-error.ts'
import { maskSecrets } from './message-names.ts'

interface Rendered {
  /** What may help where a parameter is missing. */
  readonly misspelt?: () => string | undefined
  /** Values that the template was given: functions quote them, and so may the words of its author. */
  readonly secretValues?: ReadonlySet<string>
}

const noSecrets: ReadonlySet<string> = new Set()

/** What the caller is told of a template that is wrong, or was given wrong values; no value of a secret. All else passes unchanged. */
export function toTemplateFailure(thrown: unknown, { misspelt, secretValues = noSecrets }: Rendered = {}): unknown {
  if (!(thrown instanceof TemplateError)) return thrown
  const { message, answer, documentation, hint, cause } = thrown
  const advice = message.includes('Required parameter is not defined') ? misspelt?.() : undefined
  // `error()` and `custom_error()` answer in the words of the template's author, to the byte.
  return errors.TEMPLATE_INVALID({
    message: maskSecrets(message, secretValues),
    answer: documentation === null ? withoutSecrets(answer, secretValues) : null,
    hint: hint === undefined ? advice : maskSecrets(hint, secretValues),
    cause: secretValues.size === 0 ? cause : undefined,
  })
}

function withoutSecrets(answer: TemplateAnswer, secretValues: ReadonlySet<string>): TemplateAnswer {
  if (secretValues.size === 0) return answer
  const entries = Object.entries(answer.body).map(([key, value]) => {
    return [maskSecrets(key, secretValues), withoutValue(value, secretValues)] as const
  })
  return { ...answer, body: Object.fromEntries(entries) }
}

function withoutValue(value: ParameterValue, secretValues: ReadonlySet<string>): ParameterValue {
  if (typeof value === 'string') return maskSecrets(value, secretValues)
  const text = JSON.stringify(value)
  const masked = maskSecrets(text, secretValues)
  return masked === text ? value : masked
}
