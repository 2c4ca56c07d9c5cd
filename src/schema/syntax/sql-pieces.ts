// Cuts SQL that comes in pieces into tokens: what `lexer.ts` does for a whole text, for one whose pieces may begin and end
// inside of a token, with holes for what is printed between them. It refuses nothing: what is wrong shows when all is rendered.

/** A value that is printed between two pieces. */
export interface SqlHole {
  /** Whether it is printed as a name, and not as a literal. */
  readonly isName: boolean
  /** What it may be, as far as texts say so. */
  readonly values: readonly HoleValue[]
  /** Whether it may be something else too. */
  readonly isOpen: boolean
  /** What is known of that: how it begins and ends. */
  readonly made: readonly MadeName[]
  /** Parts of texts that it is made of in a way that nothing more is known of; in small letters. */
  readonly pieces: readonly string[]
}

/** A name whose middle a value fills in. It stands for every name that begins with `prefix` and ends with `suffix`. */
export interface MadeName {
  readonly prefix: string
  readonly suffix: string
}

export interface HoleValue {
  readonly text: string
  /** Where it stands in the source, with its quotes; null for one that is made of others, or tells what may be sent. */
  readonly span: SourceSpan | null
}

export interface SourceSpan {
  readonly start: number
  readonly end: number
}

export interface PieceToken {
  readonly kind: 'name' | 'string' | 'number' | 'value' | 'symbol'
  /** Without quotes. */
  readonly text: string
  /** In capitals, for a word without quotes and for a symbol; else empty. */
  readonly key: string
  /** What it is made of, in order. */
  readonly fragments: readonly (string | SqlHole)[]
  /** Where it stands in the source, quotes included; null for one that is no single piece of it. */
  readonly span: SourceSpan | null
}

type Mode = 'code' | 'name' | 'number' | 'quoted' | 'string' | 'line comment' | 'block comment' | 'heredoc'

/** The token that has begun, and what is open around the place. */
interface Open {
  readonly mode: Mode
  readonly mark: string
  readonly depth: number
  readonly fragments: readonly (string | SqlHole)[]
  readonly start: number
  /** Up to where it was read. */
  readonly end: number
  /** Whether all of it stands in one piece. */
  readonly isWhole: boolean
  /** A backslash was the last that came. */
  readonly isEscaped: boolean
}

const outside = { mode: 'code', mark: '', depth: 0, fragments: [], start: 0, end: 0 } as const
const nothing: Open = { ...outside, isWhole: true, isEscaped: false }

/** Words that end where a value begins, as in `IN{{x}}`; what stands behind another grows together with it. */
const keywords: ReadonlySet<string> = new Set(
  `AND ARRAY AS BETWEEN BY CASE DISTINCT ELSE FROM HAVING ILIKE IN INTERVAL JOIN LIKE LIMIT NOT OFFSET ON OR ORDER
  PREWHERE SELECT THEN TOP USING WHEN WHERE WITH`.split(/\s+/),
)
/** Words that begin anew behind a value, as in `{{column(x)}}FROM`; any other one grows together with a name that is printed. */
const keywordsBehind: ReadonlySet<string> = new Set([
  ...keywords,
  ...'ANY ASOF CROSS EXCEPT FINAL FORMAT FULL GLOBAL GROUP HAVING INNER INTERSECT LEFT RIGHT SETTINGS UNION'.split(' '),
])
const commentOpener = /--|\/\/|#[ !]/y
const heredocOpener = /\$\w*\$/y
const hexadecimal = /[0-9A-Fa-f]{2}/y
const nameText = /[\w$]+/y
const numberText = /[\w.]+/y
const blankText = /[\s\ufeff]+/y

export class SqlPieces {
  readonly #report: (token: PieceToken) => void
  #open: Open

  constructor(report: (token: PieceToken) => void, from?: SqlPieces) {
    this.#report = report
    this.#open = from === undefined ? nothing : from.#open
  }

  /** The same for two that go on alike. */
  get key(): string {
    return JSON.stringify(this.#open)
  }

  /** Of a plain word that the text ends with so far, and nothing else; null for any other end. */
  get openWord(): string | null {
    const { mode, fragments } = this.#open
    const [word] = fragments
    return mode === 'name' && fragments.length === 1 && typeof word === 'string' ? word.toUpperCase() : null
  }

  text(text: string, offset: number): void {
    if (this.#open.mode === 'quoted' || this.#open.mode === 'string') this.#open = { ...this.#open, isWhole: false }
    let at = 0
    while (at < text.length) at = this.#read(text, at, offset)
  }

  hole(hole: SqlHole): void {
    const { mode, fragments } = this.#open
    const isKeyword = mode === 'name' && fragments.length === 1 && keywords.has(String(fragments[0]).toUpperCase())
    if (isKeyword || mode === 'number') this.#finish()
    switch (this.#open.mode) {
      case 'code':
        if (hole.isName) this.#open = { ...nothing, mode: 'name', fragments: [hole], isWhole: false }
        else this.#report({ kind: 'value', text: '', key: '', fragments: [hole], span: null })
        break
      case 'name':
      case 'quoted':
      case 'string':
        this.#open = { ...this.#open, fragments: [...this.#open.fragments, hole] }
        break
      default:
    }
  }

  /** Takes a value that prints nothing but a blank or a comment. */
  blank(): void {
    if (this.#open.mode === 'name' || this.#open.mode === 'number') this.#finish()
  }

  end(): void {
    if (this.#open.mode === 'name' || this.#open.mode === 'number') this.#finish()
    this.#open = nothing
  }

  /** Reads on from `at`; tells how far it came. */
  #read(text: string, at: number, offset: number): number {
    switch (this.#open.mode) {
      case 'code':
        return this.#readCode(text, at, offset)
      case 'name':
        return this.#readWord(nameText, text, { at, offset })
      case 'number':
        return this.#readWord(numberText, text, { at, offset })
      case 'quoted':
      case 'string':
        return this.#readQuoted(text, at, offset)
      case 'line comment':
      case 'heredoc':
        return this.#readTo(text, at)
      case 'block comment':
        return this.#readComment(text, at)
    }
  }

  #readCode(text: string, at: number, offset: number): number {
    const blanks = matchAt(blankText, text, at)
    if (blanks !== '') return at + blanks.length
    const begin = (mode: Mode, mark = ''): void => {
      this.#open = { ...nothing, mode, mark, start: offset + at }
    }
    const character = text.charAt(at)
    const heredoc = matchAt(heredocOpener, text, at)
    if (/[A-Za-z_]/.test(character)) begin('name')
    else if (/[0-9]/.test(character)) begin('number')
    else if (character === "'") begin('string', character)
    else if (character === '"' || character === '`') begin('quoted', character)
    else if (matchAt(commentOpener, text, at) !== '') begin('line comment', '\n')
    else if (text.startsWith('/*', at)) begin('block comment')
    else if (heredoc !== '') begin('heredoc', heredoc)
    else {
      const span = { start: offset + at, end: offset + at + 1 }
      this.#report({ kind: 'symbol', text: character, key: character, fragments: [character], span })
    }
    const { mode, mark } = this.#open
    if (mode === 'name' || mode === 'number' || mode === 'line comment') return at + (mode === 'line comment' ? 2 : 0)
    if (mode === 'block comment') return at
    return at + Math.max(1, mark.length)
  }

  #readWord(pattern: RegExp, text: string, { at, offset }: { readonly at: number; readonly offset: number }): number {
    const word = matchAt(pattern, text, at)
    const end = at + word.length
    if (word !== '') {
      const isWhole = at > 0 || this.#open.fragments.length === 0
      this.#add(word)
      this.#open = { ...this.#open, isWhole: this.#open.isWhole && isWhole, end: offset + end }
    }
    if (end < text.length) this.#finish()
    return end
  }

  #readQuoted(text: string, at: number, offset: number): number {
    const { mark, isEscaped } = this.#open
    const character = text.charAt(at)
    if (isEscaped) {
      const digits = mark === "'" && character === 'x' ? matchAt(hexadecimal, text, at + 1) : ''
      this.#add(digits === '' ? character : String.fromCharCode(Number.parseInt(digits, 16)))
      return at + 1 + digits.length
    }
    if (character === '\\') {
      this.#open = { ...this.#open, isEscaped: true }
      return at + 1
    }
    if (character !== mark) {
      let end = at + 1
      while (end < text.length && text.charAt(end) !== mark && text.charAt(end) !== '\\') end += 1
      this.#add(text.slice(at, end))
      return end
    }
    if (text.charAt(at + 1) === mark) {
      this.#add(mark)
      return at + 2
    }
    this.#open = { ...this.#open, end: offset + at + 1 }
    this.#finish()
    return at + 1
  }

  #readTo(text: string, at: number): number {
    const { mark, mode } = this.#open
    const found = text.indexOf(mark, at)
    const end = found < 0 ? text.length : found
    if (mode === 'heredoc') this.#add(text.slice(at, end))
    if (found < 0) return end
    if (mode === 'heredoc') this.#finish()
    this.#open = nothing
    return end + mark.length
  }

  #readComment(text: string, at: number): number {
    const edge = /\/\*|\*\//g
    edge.lastIndex = at
    const found = edge.exec(text)
    if (found === null) return text.length
    const depth = this.#open.depth + (found[0] === '/*' ? 1 : -1)
    this.#open = depth > 0 ? { ...this.#open, depth } : nothing
    return edge.lastIndex
  }

  #add(text: string): void {
    const { fragments } = this.#open
    const last = fragments.at(-1)
    const joined = typeof last === 'string' ? [...fragments.slice(0, -1), last + text] : [...fragments, text]
    this.#open = { ...this.#open, fragments: joined, isEscaped: false }
  }

  #finish(): void {
    const { mode, start, end } = this.#open
    const [before, after] = mode === 'name' ? this.#apart() : [this.#open.fragments, null]
    const isWhole = this.#open.isWhole && mode !== 'heredoc'
    this.#open = nothing
    if (after !== null) {
      this.#reportToken({ mode, fragments: before, span: null })
      const span = { start: end - after.length, end }
      this.#reportToken({ mode, fragments: [after], span })
      return
    }
    const isText = before.every((fragment) => typeof fragment === 'string')
    this.#reportToken({ mode, fragments: before, span: isWhole && isText ? { start, end } : null })
  }

  /** What stands before a keyword that follows a value without a blank, and that keyword; null for none. */
  #apart(): readonly [Open['fragments'], string | null] {
    const { fragments } = this.#open
    const last = fragments.at(-1)
    const isBehind = fragments.length > 1 && typeof last === 'string' && keywordsBehind.has(last.toUpperCase())
    return isBehind ? [fragments.slice(0, -1), last] : [fragments, null]
  }

  #reportToken({ mode, fragments, span }: Pick<Open, 'mode' | 'fragments'> & Pick<PieceToken, 'span'>): void {
    const text = fragments.map((fragment) => (typeof fragment === 'string' ? fragment : '')).join('')
    const kind = mode === 'quoted' ? 'name' : mode === 'name' || mode === 'number' ? mode : 'string'
    this.#report({ kind, text, key: mode === 'name' ? text.toUpperCase() : '', fragments, span })
  }
}

function matchAt(pattern: RegExp, text: string, at: number): string {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0] ?? ''
}
