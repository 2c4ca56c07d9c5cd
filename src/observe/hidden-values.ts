// Values that are nobody's to read, such as those of variables, and whether a text of a caller has one of them in it, however it is
// written. Neither the number of values nor what they are decides how long that takes.

import { Beginnings, beginningCharsMin } from './beginnings.ts'
import { knownNumber, numbersIn } from './known-numbers.ts'

const decodeDepthMax = 6
/** Of all values together: each has its share of them. */
const partsMax = 2_000

/** Values that change. */
export interface HiddenValues {
  /** Another number after every change. */
  readonly version: number
  values(): readonly string[]
}

/** Finds values of 8 characters or more: shorter ones would be in words that everybody writes. A text may have been cut within the value. */
export class HiddenValueSearch {
  #values: HiddenValues | null = null
  #known: KnownValues = { version: Number.NaN, forms: new Map(), beginnings: new Beginnings([]), numbers: new Set() }

  /** From now on these are looked for, as they are then. */
  hide(values: HiddenValues): void {
    this.#values = values
  }

  /** Also where it is written with escapes, or escapes of escapes. */
  isIn(text: string): boolean {
    const { beginnings, numbers } = this.#current()
    if (beginnings.count === 0) return false
    const isOne = (form: string): boolean => beginnings.areIn(form) || hasNumber(form, numbers)
    let decoded = text
    for (let depth = 0; depth < decodeDepthMax; depth += 1) {
      for (const form of formsOf(decoded)) if (isOne(form)) return true
      const next = unescapedText(unescapedUrl(decoded))
      if (next === decoded) return false
      decoded = next
    }
    // Nobody writes so by accident.
    return true
  }

  #current(): KnownValues {
    const values = this.#values
    if (values !== null && this.#known.version !== values.version) this.#known = knownAfter(this.#known, values)
    return this.#known
  }
}

interface SentForms {
  readonly whole: readonly string[]
  readonly parts: readonly string[]
}

interface KnownValues {
  readonly version: number
  /** By value: a change is one of one value. */
  readonly forms: ReadonlyMap<string, SentForms>
  readonly beginnings: Beginnings
  /** Of values that are numbers, which callers may write in another way. */
  readonly numbers: ReadonlySet<number>
}

function knownAfter(before: KnownValues, values: HiddenValues): KnownValues {
  const { version } = values
  const forms = new Map(values.values().map((value) => [value, before.forms.get(value) ?? sentAs(value)]))
  const countMax = Math.ceil(partsMax / forms.size)
  const looked = Array.from(forms.values()).flatMap(({ whole, parts }) => [...whole, ...parts.slice(0, countMax)])
  const numbers = new Set(Array.from(forms.keys()).flatMap((value) => knownNumber(value) ?? []))
  return { version, forms, beginnings: new Beginnings(looked), numbers }
}

function hasNumber(text: string, numbers: ReadonlySet<number>): boolean {
  if (numbers.size === 0) return false
  for (const number of numbersIn(text)) if (numbers.has(number)) return true
  return false
}

const controls: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' }
const longParts = new RegExp(`[^&]{${beginningCharsMin},}`, 'g')

const dayAndHour = /(\d{4}-\d\d-\d\d)[ T](?=\d\d)/g

/** What is read of a value that a client sends: also of one that it has put into a URL as it is. */
function sentAs(value: string): SentForms {
  const parts = value.match(longParts) ?? []
  return { whole: writtenAs(value), parts: parts.map((part) => unescapedUrl(part.replaceAll('+', ' '))) }
}

/** Without blanks at its ends, with other ends of lines, with dates in both ways: clients and forms change all of these. */
function writtenAs(value: string): readonly string[] {
  const trimmed = value.trim()
  const lines = trimmed.replaceAll('\r\n', '\n')
  const dates = [trimmed.replace(dayAndHour, '$1 '), trimmed.replace(dayAndHour, '$1T')]
  return Array.from(new Set([value, trimmed, lines, lines.replaceAll('\n', '\r\n'), ...dates]))
}

/** As it may have been written: a value may look as if it had escapes itself, and forms write a blank as a plus. */
function formsOf(text: string): ReadonlySet<string> {
  const unescaped = unescapedText(text)
  const forms = new Set([text, unescapedUrl(text.replaceAll('+', ' ')), unescaped, unescaped.replaceAll("''", "'")])
  // Bytes of headers are read as Latin-1.
  if (/[\x80-\xff]/.test(text)) forms.add(Buffer.from(text, 'latin1').toString())
  return forms
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
