// What is told of callers goes into rows that others read: no tokens, and no values of variables, which a template compares with what
// a caller sends.

import { HiddenValueSearch, type HiddenValues } from '../observe/hidden-values.ts'
import { type LogSecrets, redactedText } from '../observe/log-secrets.ts'

export class RowSecrets {
  readonly #tokens: LogSecrets
  readonly #values = new HiddenValueSearch()
  #isName: (text: string) => boolean = () => false

  constructor(tokens: LogSecrets) {
    this.#tokens = tokens
  }

  /** From now on their values, as they are then, are in no row. */
  hideVariables(variables: HiddenValues): void {
    this.#values.hide(variables)
  }

  /** From now on texts that this says yes to are names of what the workspace has. */
  showNames(isName: (text: string) => boolean): void {
    this.#isName = isName
  }

  /** A text of a caller without what is nobody's to read. Of a URL the parameters go that have it, of any other text all of it. */
  cleanValue(text: string): string {
    return this.cleanUrl(text, [])
  }

  /** The same, where the path may have these names of what the workspace has: they are no values, whatever variables have. */
  cleanUrl(url: string, names: readonly string[]): string {
    const cleaned = this.#tokens.cleanValue(url)
    if (!this.#values.isIn(cleaned)) return cleaned
    const [path = '', ...query] = cleaned.split('?')
    const unnamed = path
      .split('/')
      .map((segment) => withoutName(segment, names))
      .join('/')
    if (!path.startsWith('/') || this.#values.isIn(unnamed)) return redactedText
    if (query.length === 0) return path
    const parameters = query.join('?').split('&')
    const left = parameters.map((parameter) => this.#withoutValue(parameter)).join('&')
    return this.#values.isIn(`${unnamed}?${left}`) ? redactedText : `${path}?${left}`
  }

  /** A name that may be one of the workspace, which it goes on to be, or whatever a caller has sent. */
  cleanName(text: string): string {
    return this.#isName(text) ? this.cleanOwnName(text) : this.cleanValue(text)
  }

  /** The name of something that the workspace has, or had. Who may read it may list it, and no request makes it up. */
  cleanOwnName(name: string): string {
    return this.#tokens.cleanValue(name)
  }

  #withoutValue(parameter: string): string {
    if (!this.#values.isIn(parameter)) return parameter
    const [name = ''] = parameter.split('=')
    return this.#values.isIn(name) ? redactedText : `${name}=${redactedText}`
  }
}

function withoutName(segment: string, names: readonly string[]): string {
  return segment.slice(names.find((name) => segment.startsWith(name))?.length ?? 0)
}
