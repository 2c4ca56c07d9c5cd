import { errors } from '../shared/errors/errors.ts'
import { JsonTextError, readJson } from '../template/json-text.ts'
import type { ParameterValue } from '../template/template.types.ts'
import { TemplateFault } from '../template/template-error.ts'
import { DictValue, toParameter } from '../template/values.ts'

/**
 * The members of a JSON object as values of parameters: numbers stay numbers and arrays arrays; an integer that a double
 * cannot hold becomes its digits.
 *
 * @throws BODY_CORRUPT (400) for what is no JSON object, TEMPLATE_INVALID (400) for values that are too long.
 */
export function readJsonParameters(text: string): readonly (readonly [string, ParameterValue])[] {
  const value = read(text)
  if (!(value instanceof DictValue)) throw errors.BODY_CORRUPT({ format: 'JSON', reason: 'it is no object' })
  return [...value.entries.values()].map(([key, item]) => [String(toParameter(key)), toParameter(item)] as const)
}

function read(text: string) {
  try {
    return readJson(text)
  } catch (cause) {
    // Values of templates have a largest size.
    if (!(cause instanceof JsonTextError || cause instanceof TemplateFault)) throw cause
    throw errors.BODY_CORRUPT({ format: 'JSON', reason: cause.message, cause })
  }
}
