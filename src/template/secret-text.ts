// Secrets in the settings of connections and data sources: `KAFKA_KEY {{ tb_secret("key", "default") }}`.

import { placeOf, syntaxFault, TemplateError, type TemplateFault, templateFault } from './template-error.ts'

/** The default is a text without escapes, or a number. */
const secretTag =
  /\{\{\s*tb_(?:secret|var)\(\s*(['"])([A-Za-z_][A-Za-z0-9_]*)\1\s*(?:,\s*(?:default\s*=\s*)?(?:'([^'\\\n]*)'|"([^"\\\n]*)"|(-?\d+(?:\.\d+)?))\s*)?\)\s*\}\}/g
const wrongTag = /\{\{\s*tb_(?:secret|var)\b/

/**
 * The text with the values of its secrets; nothing else in it is a template. An empty value is written as `""`.
 *
 * @throws TemplateError for a secret that is missing and has no default, or has a line break, which settings cannot have.
 */
export function fillSecrets(text: string, secret: (name: string) => string | undefined): string {
  const wrongPlace = text.replaceAll(secretTag, (tag) => ' '.repeat(tag.length)).search(wrongTag)
  // Left as it is, the tag would become the value of the setting.
  if (wrongPlace >= 0) throw secretError(text, syntaxFault('invalid syntax', wrongPlace))
  return text.replaceAll(secretTag, (...groups: readonly (string | number | undefined)[]) => {
    const name = String(groups[2])
    const fallback = groups[3] ?? groups[4] ?? groups[5]
    const value = secret(name) ?? (fallback === undefined ? undefined : String(fallback))
    if (value !== undefined && !/[\r\n]/.test(value)) return value === '' ? '""' : value
    const reason =
      value === undefined
        ? `Cannot access secret '${name}'. Check the secret exists in the Workspace and the token has the required scope.`
        : `The secret '${name}' has a line break, which a setting cannot have`
    throw secretError(text, templateFault(reason, Number(groups[6])))
  })
}

function secretError(text: string, fault: TemplateFault): TemplateError {
  return new TemplateError(fault, { cause: fault, place: placeOf(text, fault.offset ?? 0) })
}
