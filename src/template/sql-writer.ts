// Joins the template's own text and printed values, and knows at each value what the text before it has opened: nothing,
// a string, a quoted name or a comment. A value alone is a whole literal, but `'{{x}}'` would set it free again, and a
// `*/` in a value would end the author's comment. So inside of quotes the escaped text is printed without quotes of its
// own, in comments what ends them is defused, and where ClickHouse has no escapes (heredocs) nothing may be printed.

import { escapeText } from './sql-escapes.ts'
import type { TextSpan } from './template.types.ts'
import { limitFault, templateFault } from './template-error.ts'
import type { SqlText } from './values.ts'

type Scope = 'code' | "'" | '"' | '`' | 'line comment' | 'block comment' | 'heredoc' | 'pending escape'

/** Where in code a text or comment may begin. The typographic quotes are quotes to the engine. */
const opener = /['"`\u2018\u201c]|--|\/\/|\/\*|#[ !]|\$[A-Za-z0-9_]*\$/g
/** The same and words, in which nothing begins: `a$x$` is one. */
const wordOrOpener = new RegExp(`[A-Za-z0-9_][A-Za-z0-9_$]*|${opener.source}`, 'g')
const wordRest = /[A-Za-z0-9_$]*/y
const commentEdge = /\/\*|\*\//g
/** The longest name of a heredoc that is looked for before a value. */
const tailCharacters = 64

export class SqlWriter {
  readonly #charactersMax: number
  readonly #parts: string[] = []
  #length = 0
  /** Text since the last value; it is read only when the next one comes. */
  #unscanned = ''
  /** The end of what was written, long enough to see what a value would grow together with. */
  #tail = ''
  #scope: Scope = 'code'
  #commentDepth = 0
  #closer = ''
  /** What was written ends with a word, which goes on with the next text. */
  #isInWord = false
  /** The last thing written was a value, which ended in this quote. */
  #valueQuote = ''
  readonly #secretSpans: TextSpan[] = []

  constructor(charactersMax: number) {
    this.#charactersMax = charactersMax
  }

  /** @throws TemplateFault when the rendered text is too long. */
  writeText(text: string): void {
    if (text === '') return
    // A quote right after that of a value would be read as a doubled one, inside of the value.
    const isGlued = this.#valueQuote !== '' && text.startsWith(this.#valueQuote)
    const written = isGlued ? ` ${text}` : text
    this.#valueQuote = ''
    this.#count(written)
    this.#unscanned += written
  }

  /** @throws TemplateFault when the text is too long, or where no value can stand. */
  writeValue(value: SqlText): void {
    this.#scan()
    // Whatever a value prints, it leaves the scope as it was.
    const text = this.#valueText(value) || this.#separator()
    if (text === '') return
    this.#count(text)
    this.#push(text)
    this.#isInWord = this.#scope === 'code' && isWord(text, text.length - 1)
    // A value that cannot stand in quotes is a secret.
    if (value.plain === null && this.#scope === 'code') {
      this.#secretSpans.push({ start: this.#length - value.sql.length, end: this.#length })
    }
    const last = text.charAt(text.length - 1)
    this.#valueQuote = this.#scope === 'code' && (last === "'" || last === '`') ? last : ''
  }

  get text(): string {
    return this.#parts.join('') + this.#unscanned
  }

  /** Where secrets stand in the text. */
  get secretSpans(): readonly TextSpan[] {
    return this.#secretSpans
  }

  #count(text: string): void {
    this.#length += text.length
    if (this.#length <= this.#charactersMax) return
    throw limitFault(`the rendered template is longer than ${this.#charactersMax} characters`)
  }

  #push(text: string): void {
    this.#parts.push(text)
    this.#tail = text.length < tailCharacters ? (this.#tail + text).slice(-tailCharacters) : text.slice(-tailCharacters)
  }

  #valueText(value: SqlText): string {
    switch (this.#scope) {
      case 'code':
        return separatorBefore(this.#tail, value.sql) + value.sql
      case "'":
      case '"':
      case '`':
        if (value.plain === null) throw templateFault('a secret cannot be printed inside of quotes')
        return escapeText(value.plain)
      case 'line comment':
        return value.sql.replaceAll(/[\r\n]/g, ' ')
      case 'block comment':
        return this.#commentText(value.sql)
      case 'heredoc':
        throw templateFault('a value cannot be printed inside of a heredoc or typographic quotes')
      case 'pending escape':
        throw templateFault('a value cannot be printed after a backslash')
    }
  }

  /** Where nothing is printed, what stands before must not open or close a comment or a heredoc with what follows. */
  #separator(): string {
    if (this.#scope === 'block comment') return /[*/]$/.test(this.#tail) ? ' ' : ''
    if (this.#scope !== 'code' || this.#isInWord) return ''
    return /[-/#]$|\$[A-Za-z0-9_]*$/.test(this.#tail) ? ' ' : ''
  }

  /** Neither the value nor its edges may close the comment or open one in it. */
  #commentText(sql: string): string {
    const inner = sql.replaceAll(/\*(?=\/)|\/(?=\*)/g, '$& ')
    const last = this.#tail.slice(-1)
    const isGlued = (last === '*' && inner.startsWith('/')) || (last === '/' && inner.startsWith('*'))
    return `${isGlued ? ' ' : ''}${inner}${/[*/]$/.test(inner) ? ' ' : ''}`
  }

  /** Reads the text that was written since the last value. */
  #scan(): void {
    const text = this.#unscanned
    if (text === '') return
    let offset = 0
    while (offset < text.length) offset = this.#scanScope(text, offset)
    this.#unscanned = ''
    this.#push(text)
  }

  /** The offset at which the scope changed, or the end. */
  #scanScope(text: string, offset: number): number {
    switch (this.#scope) {
      case 'code':
        return this.#scanCode(text, offset)
      case "'":
      case '"':
      case '`':
        return this.#scanQuoted(text, offset, this.#scope)
      case 'line comment':
        return this.#scanTo(text, offset, '\n')
      case 'heredoc':
        return this.#scanTo(text, offset, this.#closer)
      case 'block comment':
        return this.#scanBlockComment(text, offset)
      case 'pending escape':
        // The value that stood here was refused, and a `{% try %}` went on: no value can follow.
        return text.length
    }
  }

  #scanCode(text: string, offset: number): number {
    // Words matter for what a dollar in them is; without one they are not looked at.
    const hasDollar = text.includes('$')
    const pattern = hasDollar ? wordOrOpener : opener
    let wordEnd = this.#isInWord ? endOfWord(text, offset) : offset
    pattern.lastIndex = wordEnd
    let mark = pattern.exec(text)?.[0]
    while (mark !== undefined && isWord(mark)) {
      wordEnd = pattern.lastIndex
      mark = pattern.exec(text)?.[0]
    }
    this.#isInWord = mark === undefined && (hasDollar ? wordEnd === text.length : isWord(text, text.length - 1))
    if (mark === undefined) return text.length
    const end = pattern.lastIndex
    if (mark === "'" || mark === '"' || mark === '`') {
      this.#scope = mark
    } else if (mark === '/*') {
      this.#scope = 'block comment'
      this.#commentDepth = 1
    } else if (mark === '--' || mark === '//' || mark.startsWith('#')) {
      this.#scope = 'line comment'
    } else {
      this.#scope = 'heredoc'
      this.#closer = typographicClosers.get(mark) ?? mark
    }
    return end
  }

  #scanQuoted(text: string, start: number, quote: string): number {
    for (let offset = start; offset < text.length; offset += 1) {
      const character = text.charAt(offset)
      if (character === quote) {
        this.#scope = 'code'
        return offset + 1
      }
      if (character !== '\\') continue
      offset += 1
      if (offset >= text.length) this.#scope = 'pending escape'
    }
    return text.length
  }

  #scanTo(text: string, offset: number, closer: string): number {
    const end = text.indexOf(closer, offset)
    if (end < 0) return text.length
    this.#scope = 'code'
    return end + closer.length
  }

  #scanBlockComment(text: string, offset: number): number {
    commentEdge.lastIndex = offset
    for (let edge = commentEdge.exec(text); edge !== null; edge = commentEdge.exec(text)) {
      this.#commentDepth += edge[0] === '/*' ? 1 : -1
      if (this.#commentDepth > 0) continue
      this.#scope = 'code'
      return commentEdge.lastIndex
    }
    return text.length
  }
}

function isWord(text: string, at = 0): boolean {
  const code = text.charCodeAt(at)
  return code === 95 || (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122)
}

function endOfWord(text: string, offset: number): number {
  wordRest.lastIndex = offset
  return offset + (wordRest.exec(text)?.[0].length ?? 0)
}

const typographicClosers: ReadonlyMap<string, string> = new Map([
  ['\u2018', '\u2019'],
  ['\u201c', '\u201d'],
])

/** A blank where the text before would grow together with the value: `'a''b'`, `x'41'`, `1 --5`, `$a$`. */
function separatorBefore(tail: string, sql: string): string {
  const first = sql.charAt(0)
  const last = tail.charAt(tail.length - 1)
  const isQuote = first === "'" || first === '`'
  const isGlued =
    (isQuote && last === first) || (first === "'" && /[A-Za-z0-9_]/.test(last)) || (first === '-' && last === '-')
  if (isGlued) return ' '
  return /\$[A-Za-z0-9_]*$/.test(tail) ? ' ' : ''
}
