// Where blanks, comments, quoted texts and words of ClickHouse text end: the one place that knows it. Two readers make tokens
// of it, `lexer.ts` those of queries, `text-tokens.ts` those of types, schemas and options. What the second one checks is read
// again by the first or pasted into a statement, so both must see the same ends.

/** What the two readers take differently, and how they refuse. */
export interface ScanRules {
  /** What begins a comment that ends with its line; sticky. */
  readonly lineComment: RegExp
  /** Whether a comment between slashes and stars may hold another one. */
  readonly hasNestedComments: boolean
  /** Whether a no-break space and a byte order mark are blanks: they come with pasted text, and the engine takes them so. */
  readonly hasUnusualBlanks: boolean
  /** Whether `$` goes on with a word. */
  readonly hasDollarWords: boolean
  /** @throws for a comment, or for the quote that stands at the offset. */
  readonly refuseUnclosed: (text: string, offset: number) => never
  /** @throws for a NUL inside of quotes. */
  readonly refuseNul: (offset: number) => never
}

export const characterClass = { other: 0, blank: 1, letter: 2, digit: 3, comment: 4, quote: 5 } as const

/** What an ASCII character can begin. */
const classes = new Uint8Array(128)
for (const code of [9, 10, 11, 12, 13, 32]) classes[code] = characterClass.blank
for (let code = 0; code < 128; code += 1) {
  const character = String.fromCharCode(code)
  if (/[A-Za-z_]/.test(character)) classes[code] = characterClass.letter
  if (/[0-9]/.test(character)) classes[code] = characterClass.digit
}
// What may begin a comment.
for (const character of '/-#') classes[character.charCodeAt(0)] = characterClass.comment
for (const character of '\'`"') classes[character.charCodeAt(0)] = characterClass.quote

/** What the character at the offset can begin; `other` beyond the end. */
export function classOf(text: string, offset: number): number {
  const code = text.charCodeAt(offset)
  // Beyond the end the code is NaN, which is smaller than nothing.
  return code < 128 ? (classes[code] ?? characterClass.other) : characterClass.other
}

const unusualBlank = /[\s\u00a0\ufeff]/

/** The offset behind the blanks and comments that begin at `start`. */
export function skipBlanks(text: string, start: number, rules: ScanRules): number {
  let offset = start
  while (offset < text.length) {
    const kind = classOf(text, offset)
    if (kind === characterClass.blank) offset += 1
    else if (kind === characterClass.comment) {
      const after = skipComment(text, offset, rules)
      if (after === offset) return offset
      offset = after
    } else if (rules.hasUnusualBlanks && text.charCodeAt(offset) >= 128 && unusualBlank.test(text.charAt(offset))) {
      offset += 1
    } else return offset
  }
  return offset
}

function skipComment(text: string, offset: number, rules: ScanRules): number {
  if (text.startsWith('/*', offset)) return skipBlockComment(text, offset, rules)
  rules.lineComment.lastIndex = offset
  if (!rules.lineComment.test(text)) return offset
  const end = text.indexOf('\n', offset)
  return end < 0 ? text.length : end + 1
}

function skipBlockComment(text: string, start: number, { hasNestedComments, refuseUnclosed }: ScanRules): number {
  const edge = /\/\*|\*\//g
  edge.lastIndex = start + 2
  let depth = 1
  for (let match = edge.exec(text); match !== null; match = edge.exec(text)) {
    if (match[0] === '*/') depth -= 1
    else if (hasNestedComments) depth += 1
    // `/*/` ends a comment that cannot hold another.
    else edge.lastIndex -= 1
    if (depth === 0) return edge.lastIndex
  }
  return refuseUnclosed(text, start)
}

/** The offset after the closing quote; a quote is kept by doubling it or by a backslash. */
export function endOfQuoted(text: string, start: number, rules: ScanRules): number {
  const mark = text.charCodeAt(start)
  let offset = start + 1
  while (offset < text.length) {
    const code = text.charCodeAt(offset)
    if (code === 0) rules.refuseNul(offset)
    if (code === 92) offset += 2
    else if (code !== mark) offset += 1
    else if (text.charCodeAt(offset + 1) === mark) offset += 2
    else return offset + 1
  }
  return rules.refuseUnclosed(text, start)
}

/** The offset behind the letters, digits and underscores that follow the first character. */
export function endOfWord(text: string, start: number, { hasDollarWords }: ScanRules): number {
  let offset = start + 1
  for (;;) {
    const kind = classOf(text, offset)
    const isInside = kind === characterClass.letter || kind === characterClass.digit
    if (!isInside && !(hasDollarWords && text.charCodeAt(offset) === 36)) return offset
    offset += 1
  }
}
