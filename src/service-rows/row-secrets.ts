// What is told of callers goes into rows that others read: no tokens, and no values of variables, which a template compares with what
// a caller sends.

import { HiddenValueSearch, type HiddenValues } from '../observe/hidden-values.ts'
import { type LogSecrets, redactedText } from '../observe/log-secrets.ts'

export class RowSecrets {
  readonly #tokens: LogSecrets
  readonly #values = new HiddenValueSearch()

  constructor(tokens: LogSecrets) {
    this.#tokens = tokens
  }

  /** From now on their values, as they are then, are in no row. */
  hideVariables(variables: HiddenValues): void {
    this.#values.hide(variables)
  }

  /** A text of a caller without what is nobody's to read. Of a URL the parameters go that have it, of any other text all of it. */
  cleanValue(text: string): string {
    const cleaned = this.#tokens.cleanValue(text)
    if (!this.#values.isIn(cleaned)) return cleaned
    const [path = '', ...query] = cleaned.split('?')
    if (!path.startsWith('/') || query.length === 0) return redactedText
    const parameters = query.join('?').split('&')
    const left = `${path}?${parameters.map((parameter) => this.#withoutValue(parameter)).join('&')}`
    return this.#values.isIn(left) ? redactedText : left
  }

  #withoutValue(parameter: string): string {
    if (!this.#values.isIn(parameter)) return parameter
    const [name = ''] = parameter.split('=')
    return this.#values.isIn(name) ? redactedText : `${name}=${redactedText}`
  }
}
