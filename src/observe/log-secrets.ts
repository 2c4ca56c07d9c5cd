import { beginningOf } from '../shared/beginning-of.ts'
import { BoundedCache } from '../shared/bounded-cache.ts'
import { escapeRegExp } from '../shared/escape-reg-exp.ts'
import { secretNameSource } from './secret-names.ts'

/**
 * Keeps tokens out of the log, however they came into an entry: what a text holds is judged by what it decodes to.
 *
 * Three ways to know one: it is the token itself, which the service knows; it has the shape of one (the JSON of its payload
 * in base64, with or without `p.` before it); or it stands behind a name that says so (`token=…`, `Bearer …`).
 */
export const redactedText = '[redacted]'

export class LogSecrets {
  #known: readonly RegExp[] = []
  /** Names of tokens and the like come again and again, and many say `token`. */
  readonly #cleaned = new BoundedCache<string>(cleanedBounds)

  /** From now on this text is in no entry, nor a beginning of it that is long enough to matter. */
  hide(secret: string): void {
    if (secret.length < secretCharsMin) return
    const start = escapeRegExp(secret.slice(0, startChars))
    this.#known = [...this.#known, new RegExp(`${start}[${tokenCharacters}]*`, 'g')]
    this.#cleaned.clear()
  }

  /** A line of JSON without the secrets in it. */
  cleanLine(line: string): string {
    const cleaned = this.cleanText(line)
    if (!mayBeEncoded.test(cleaned) || !this.#isSecretInside(cleaned)) return cleaned
    // It is written in a way that no search finds in the text: whole values go.
    return `${JSON.stringify(this.#withoutValues(JSON.parse(cleaned)))}\n`
  }

  /** A text of a caller without the secrets in it; where they are written in a way that no search finds, all of it goes. */
  cleanValue(text: string): string {
    if (!this.#mayHoldSecret(text)) return text
    const known = this.#cleaned.get(text)
    if (known !== undefined) return known
    const plain = this.cleanText(text)
    const cleaned = mayBeEncoded.test(plain) && this.#isSecretInside(plain) ? redactedText : plain
    this.#cleaned.set(text, cleaned, text.length)
    return cleaned
  }

  /** A text without the secrets that are plain in it. */
  cleanText(text: string): string {
    let cleaned = text
    for (const shape of [...this.#known, ...shapes]) cleaned = cleaned.replace(shape, redactedText)
    if (!trace.test(cleaned)) return cleaned
    return cleaned.replace(named, (found, name: string | undefined) =>
      name === undefined ? found : `${name}${redactedText}`,
    )
  }

  /** Whether a text holds a secret, also one that is written with escapes, and escapes of escapes. */
  holdsSecret(text: string): boolean {
    return this.cleanText(text) !== text || this.#isSecretInside(text)
  }

  /** What most texts are told clean by, in a fraction of the time. */
  #mayHoldSecret(text: string): boolean {
    if (trace.test(text) || this.#known.some((known) => text.search(known) >= 0)) return true
    if (!mayBeEncoded.test(text)) return false
    const decoded = decodeOnce(text)
    return decoded !== text && this.#mayHoldSecret(decoded)
  }

  #isSecretInside(text: string): boolean {
    let decoded = text
    for (let depth = 0; depth < decodeDepthMax; depth += 1) {
      const next = decodeOnce(decoded)
      if (next === decoded) return false
      decoded = next
      if (this.cleanText(decoded) !== decoded) return true
    }
    // Nobody writes so by accident.
    return true
  }

  #withoutValues(value: unknown): unknown {
    if (typeof value === 'string') return this.#isSecretInside(value) ? redactedText : value
    if (Array.isArray(value)) return value.map((element) => this.#withoutValues(element))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value).map(([name, inner]) => [
        this.#isSecretInside(name) ? redactedText : name,
        this.#withoutValues(inner),
      ]),
    )
  }
}

/**
 * An answer's text without the tokens in it. Errors quote what was sent, a token in the wrong place of a URL among it, and
 * clients show errors to people and put them into logs. Only whole tokens go, as an error must name what is wrong.
 */
export function withoutTokens(text: string): string {
  return text.replace(tokenBeginning, (found, rest: string | undefined, restOfSigned: string | undefined) =>
    rest === undefined && restOfSigned === undefined ? found : redactedText,
  )
}

// A beginning without its rest is matched too, or each place in it would be tried as a beginning again.
const tokenBeginning =
  /(?<![A-Za-z0-9])(?:p\.eyJ[A-Za-z0-9_-]{4,}(\.[A-Za-z0-9_-]+)?|eyJ[A-Za-z0-9_-]{4,}(\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+)?)/g

/** Longer words are no tokens. */
export const wordCharsMax = 512

/** The beginning of a text, without what may be the beginning of a token at its end. */
export function cutText(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text
  const kept = beginningOf(text, charsMax)
  return `${kept.slice(0, lastWordStart(kept))}…`
}

/** Where the word begins that a text ends with. A regular expression would try all words of the text, from each of their characters. */
function lastWordStart(text: string): number {
  const first = Math.max(text.length - wordCharsMax, 0)
  let start = text.length
  while (start > first && wordCharacters.has(text.charCodeAt(start - 1))) start -= 1
  return start
}

/** Weighed by characters. */
const cleanedBounds = { entriesMax: 1_000, weightMax: 200_000 }

/** A shorter text would blank words of the log; no token is as short. */
const secretCharsMin = 8
/** A text may have been cut within the token; its beginning is enough to know it by. */
const startChars = 16
const tokenCharacters = 'A-Za-z0-9._~+/=-'
const wordCharacters: ReadonlySet<number> = new Set(
  Array.from({ length: 128 }, (_, code) => code).filter((code) =>
    /[A-Za-z0-9._~+/=%-]/.test(String.fromCharCode(code)),
  ),
)
/** `eyJ` is what `{"` begins with in base64. */
const shapes: readonly RegExp[] = [/(?<![A-Za-z0-9])(?:p\.)?eyJ[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_~+/=-]*)*/g]
const word = '[\\w[\\]-]'
// A word is judged once, as a whole, and passed over where it is no name: from each place in `tokentokentoken…` it would be read again.
const named = new RegExp(
  `((?:(?=${word}*?(?:${secretNameSource}))${word}+\\s*=\\s*(?:(?:bearer|basic)\\s+)?` +
    `|${word}*authorization\\s*:\\s*(?:(?:bearer|basic)\\s+)?|${word}*bearer\\s+))` +
    `(?!\\[redacted\\]|<|bearer|basic)[^\\s&"'\\\\,;)}\\]]+|${word}+`,
  'gi',
)
/** One of these stands in each text that `shapes` or `named` are about. */
const trace = new RegExp(`eyJ|${secretNameSource}`, 'i')
const mayBeEncoded = /%|\\u|&#/
const decodeDepthMax = 6

/** Escapes of URLs, of JSON and of HTML, once. Letters are enough: a secret has no others. */
function decodeOnce(text: string): string {
  return text
    .replace(/%([0-7][0-9a-f])/gi, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)))
    .replace(/(?<!\\)\\+u00([0-7][0-9a-f])/gi, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)))
    .replace(/&#0*(\d{2,3});/g, (_, digits: string) => String.fromCharCode(Number(digits) % 128))
    .replace(/&#x0*([2-7][0-9a-f]);/gi, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)))
}
