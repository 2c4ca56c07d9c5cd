// What is told of callers goes into rows that others read: no tokens, and no values of variables, which a template compares with what
// a caller sends.

import { type LogSecrets, redactedText } from '../observe/log-secrets.ts'
import { escapeRegExp } from '../shared/escape-reg-exp.ts'

/** Shorter values would blank words that everybody writes. */
const valueCharsMin = 8
/** A text may have been cut within the value; its beginning is enough to know it by. */
const startChars = 64
const decodeDepthMax = 6
/** No text has it. */
const nothing = /(?!)/

/** Values that are nobody's to read, such as those of variables. */
export interface HiddenValues {
  /** Another number after every change. */
  readonly version: number
  values(): readonly string[]
}

export class RowSecrets {
  readonly #tokens: LogSecrets
  #variables: HiddenValues | null = null
  #known: { readonly version: number; readonly shape: RegExp } | null = null

  constructor(tokens: LogSecrets) {
    this.#tokens = tokens
  }

  /** From now on their values, as they are then, are in no row. */
  hideVariables(variables: HiddenValues): void {
    this.#variables = variables
  }

  /** A text of a caller without what is nobody's to read. Of a URL the parameters go that have it, of any other text all of it. */
  cleanValue(text: string): string {
    const cleaned = this.#tokens.cleanValue(text)
    if (!this.#hasValue(cleaned)) return cleaned
    const [path = '', ...query] = cleaned.split('?')
    if (!path.startsWith('/') || query.length === 0) return redactedText
    const parameters = query.join('?').split('&')
    const left = `${path}?${parameters.map((parameter) => this.#withoutValue(parameter)).join('&')}`
    return this.#hasValue(left) ? redactedText : left
  }

  #withoutValue(parameter: string): string {
    if (!this.#hasValue(parameter)) return parameter
    const [name = ''] = parameter.split('=')
    return this.#hasValue(name) ? redactedText : `${name}=${redactedText}`
  }

  /** Also where it is written with escapes, or escapes of escapes. */
  #hasValue(text: string): boolean {
    const shape = this.#shape()
    if (shape === nothing) return false
    let decoded = text
    for (let depth = 0; depth < decodeDepthMax; depth += 1) {
      if (formsOf(decoded).some((form) => shape.test(form))) return true
      const next = unescapedText(unescapedUrl(decoded))
      if (next === decoded) return false
      decoded = next
    }
    // Nobody writes so by accident.
    return true
  }

  #shape(): RegExp {
    const variables = this.#variables
    if (variables === null) return nothing
    if (this.#known?.version === variables.version) return this.#known.shape
    const values = variables
      .values()
      .flatMap(sentAs)
      .filter(({ length }) => length >= valueCharsMin)
    const sources = values.map((value) => escapeRegExp(value.slice(0, startChars)))
    const shape = sources.length === 0 ? nothing : new RegExp(sources.join('|'))
    this.#known = { version: variables.version, shape }
    return shape
  }
}

const controls: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' }

/** What is read of a value that a client has put into a URL as it is. */
function sentAs(value: string): readonly string[] {
  return [value, ...value.split('&').map((part) => unescapedUrl(part.replaceAll('+', ' ')))]
}

/** As it may have been written: a value may look as if it had escapes itself, and forms write a blank as a plus. */
function formsOf(text: string): readonly string[] {
  const unescaped = unescapedText(text)
  const forms = [text, unescapedUrl(text.replaceAll('+', ' ')), unescaped, unescaped.replaceAll("''", "'")]
  // Bytes of headers are read as Latin-1.
  return /[\x80-\xff]/.test(text) ? [...forms, Buffer.from(text, 'latin1').toString()] : forms
}

/** Escapes of URLs, once. */
function unescapedUrl(text: string): string {
  return text.replace(/(?:%[\da-f]{2})+/gi, (found) => Buffer.from(found.replaceAll('%', ''), 'hex').toString())
}

/** Escapes of JSON and of SQL, once. */
function unescapedText(text: string): string {
  return text.replace(
    /\\(?:u([\da-fA-F]{4})|x([\da-fA-F]{2})|(["'\\/bfnrtv]))/g,
    (_, unit: string | undefined, byte: string | undefined, sign: string = '') => {
      const digits = unit ?? byte
      return digits === undefined ? (controls[sign] ?? sign) : String.fromCharCode(Number.parseInt(digits, 16))
    },
  )
}
