// Cuts an expression into tokens by the rules of Python, as far as templates have them.

import { limitFault, syntaxFault } from './template-error.ts'

export interface ExpressionToken {
  readonly kind: 'name' | 'keyword' | 'integer' | 'float' | 'string' | 'operator' | 'end'
  /** As written; for a string its value. */
  readonly text: string
  /** In UTF-16 units of the template's source. */
  readonly offset: number
}

const keywords: ReadonlySet<string> = new Set(
  `False None True and as assert async await break class continue def del elif else except finally for from global if
  import in is lambda nonlocal not or pass raise return try while with yield`.split(/\s+/),
)
const blankText = /[\s\\]*/y
const nameText = /[\p{L}_][\p{L}\p{N}_]*/uy
const numberText = /(?:0[xX][0-9a-fA-F]+|(?:\d[\d_]*)?\.\d[\d_]*(?:[eE][+-]?\d+)?|\d[\d_]*\.?(?:[eE][+-]?\d+)?)/y
const operatorText = /\*\*|\/\/|==|!=|<=|>=|<<|>>|:=|[-+*/%<>=()[\]{},.:|&^~@;]/y
const stringStart = /(?:[rRuU]?)('''|"""|'|")/y

/** @throws TemplateFault `invalid syntax`. */
export function readExpressionTokens(text: string, offset: number): readonly ExpressionToken[] {
  const tokens: ExpressionToken[] = []
  let index = 0
  for (;;) {
    index += matchAt(blankText, text, index).length
    if (index >= text.length) break
    const read = readToken(text, index, offset)
    tokens.push(read.token)
    index = read.end
  }
  tokens.push({ kind: 'end', text: '', offset: offset + text.length })
  return tokens
}

function readToken(
  text: string,
  index: number,
  base: number,
): { readonly token: ExpressionToken; readonly end: number } {
  const offset = base + index
  const opener = matchAt(stringStart, text, index)
  if (opener !== '') return readString({ text, index, base, opener })
  const name = matchAt(nameText, text, index)
  if (name !== '') {
    return { token: { kind: keywords.has(name) ? 'keyword' : 'name', text: name, offset }, end: index + name.length }
  }
  const number = matchAt(numberText, text, index)
  if (number !== '') return readNumber({ text, index, base, opener: number })
  const operator = matchAt(operatorText, text, index)
  if (operator === '') throw syntaxFault('invalid syntax', offset)
  return { token: { kind: 'operator', text: operator, offset }, end: index + operator.length }
}

/** Far more than any column holds; integers have no size of their own. */
const digitsMax = 200

interface Place {
  readonly text: string
  readonly index: number
  readonly base: number
  /** What was matched at `index`. */
  readonly opener: string
}

function readNumber({ text, index, base, opener }: Place): { readonly token: ExpressionToken; readonly end: number } {
  const end = index + opener.length
  const isHex = /^0[xX]/.test(opener)
  const isFloat = !isHex && /[.eE]/.test(opener)
  // `007` is refused by Python, and `1st` by everybody.
  const isWrong = matchAt(nameText, text, end) !== '' || (!isHex && !isFloat && /^0[\d_]*[1-9]/.test(opener))
  if (isWrong && !keywords.has(matchAt(nameText, text, end))) throw syntaxFault('invalid syntax', base + index)
  const digits = opener.replaceAll('_', '')
  if (digits.length > digitsMax) throw limitFault(`a number has more than ${digitsMax} digits`, base + index)
  return { token: { kind: isFloat ? 'float' : 'integer', text: digits, offset: base + index }, end }
}

const escapes: Readonly<Record<string, string>> = {
  '\n': '',
  '\\': '\\',
  "'": "'",
  '"': '"',
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
}

function readString({ text, index, base, opener }: Place): { readonly token: ExpressionToken; readonly end: number } {
  const quote = opener.replace(/^[rRuU]/, '')
  const isRaw = /^[rR]/.test(opener)
  let value = ''
  let at = index + opener.length
  while (!text.startsWith(quote, at)) {
    const character = text.charAt(at)
    if (character === '' || (character === '\n' && quote.length === 1))
      throw syntaxFault('invalid syntax', base + index)
    if (character !== '\\') {
      value += character
      at += 1
    } else if (isRaw) {
      value += text.slice(at, at + 2)
      at += 2
    } else {
      const read = readEscape(text, at)
      value += read.value
      at += read.length
    }
  }
  return { token: { kind: 'string', text: value, offset: base + index }, end: at + quote.length }
}

const codeEscape = /\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U(00(?:0[0-9a-fA-F]|10)[0-9a-fA-F]{4}))/y
const octalEscape = /\\([0-7]{1,3})/y

function readEscape(text: string, at: number): { readonly value: string; readonly length: number } {
  codeEscape.lastIndex = at
  const code = codeEscape.exec(text)
  const hex = code?.[1] ?? code?.[2] ?? code?.[3]
  if (code !== null && hex !== undefined) {
    return { value: String.fromCodePoint(Number.parseInt(hex, 16)), length: code[0].length }
  }
  octalEscape.lastIndex = at
  const octal = octalEscape.exec(text)
  if (octal?.[1] !== undefined) {
    return { value: String.fromCodePoint(Number.parseInt(octal[1], 8)), length: octal[0].length }
  }
  const next = text.charAt(at + 1)
  return { value: Object.hasOwn(escapes, next) ? (escapes[next] ?? '') : `\\${next}`, length: 2 }
}

function matchAt(pattern: RegExp, text: string, index: number): string {
  pattern.lastIndex = index
  return pattern.exec(text)?.[0] ?? ''
}
