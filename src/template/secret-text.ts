// Secrets in the settings of connections and data sources: `KAFKA_KEY {{ tb_secret("key", "default") }}`.

import { placeOf, TemplateError, templateFault } from './template-error.ts'

const secretTag =
  /\{\{\s*tb_(?:secret|var)\(\s*(['"])([A-Za-z_][A-Za-z0-9_]*)\1\s*(?:,\s*(?:default\s*=\s*)?(['"])([^'"\\]*)\3\s*)?\)\s*\}\}/g

/**
 * The text with the values of its secrets; nothing else in it is a template. An empty value is written as `""`.
 *
 * @throws TemplateError for a secret that is missing and has no default, or has a line break, which settings cannot have.
 */
export function fillSecrets(text: string, secret: (name: string) => string | undefined): string {
  return text.replaceAll(secretTag, (...groups: readonly (string | number | undefined)[]) => {
    const name = String(groups[2])
    const fallback = groups[4]
    const value = secret(name) ?? (fallback === undefined ? undefined : String(fallback))
    if (value !== undefined && !/[\r\n]/.test(value)) return value === '' ? '""' : value
    const reason =
      value === undefined
        ? `Cannot access secret '${name}'. Check the secret exists in the Workspace and the token has the required scope.`
        : `The secret '${name}' has a line break, which a setting cannot have`
    const fault = templateFault(reason)
    throw new TemplateError(fault, { cause: fault, place: placeOf(text, Number(groups[5])) })
  })
}
