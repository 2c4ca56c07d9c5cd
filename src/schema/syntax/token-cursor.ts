import { assert } from '../../shared/assert.ts'
import { TextError } from '../../shared/text-error.ts'
import { readTextTokens, type TextToken } from './text-tokens.ts'

const closerByOpener: ReadonlyMap<string, string> = new Map([
  ['(', ')'],
  ['[', ']'],
])

/** Walks over the tokens of one text, forward only. The token `end` is never passed. */
export class TokenCursor {
  readonly #text: string
  readonly #tokens: readonly TextToken[]
  #index = 0

  /** @throws TextError when the text cannot be split into tokens. */
  constructor(text: string) {
    this.#text = text
    this.#tokens = readTextTokens(text)
  }

  /** The token that comes `ahead` tokens after the next one, or the end. */
  peek(ahead = 0): TextToken {
    const token = this.#tokens[this.#index + ahead] ?? this.#tokens.at(-1)
    assert(token !== undefined, 'a token list has an end')
    return token
  }

  take(): TextToken {
    const token = this.peek()
    if (token.kind !== 'end') this.#index += 1
    return token
  }

  isAtEnd(): boolean {
    return this.peek().kind === 'end'
  }

  isAtSymbol(symbol: string, ahead = 0): boolean {
    const token = this.peek(ahead)
    return token.kind === 'symbol' && token.text === symbol
  }

  /** Whether the token is this word, in capitals or not: for keywords. */
  isAtKeyword(keyword: string, ahead = 0): boolean {
    const token = this.peek(ahead)
    return token.kind === 'word' && token.text.toUpperCase() === keyword
  }

  takeSymbolIf(symbol: string): boolean {
    if (!this.isAtSymbol(symbol)) return false
    this.#index += 1
    return true
  }

  /** @throws TextError when another token stands here. */
  expectSymbol(symbol: string, after: string): void {
    if (this.takeSymbolIf(symbol)) return
    throw new TextError({
      reason: `Expected '${symbol}' ${after}, found ${this.describe()}`,
      offset: this.peek().offset,
    })
  }

  /** @throws TextError when anything is left. */
  expectEnd(after: string): void {
    if (this.isAtEnd()) return
    throw new TextError({ reason: `Unexpected ${this.describe()} ${after}`, offset: this.peek().offset })
  }

  /** The next token in words, for a message. */
  describe(): string {
    const token = this.peek()
    return token.kind === 'end' ? 'the end' : `'${token.text}'`
  }

  /** The text from `offset` up to the last token taken. */
  textFrom(offset: number): string {
    const last = this.#tokens[this.#index - 1]
    return last === undefined ? '' : this.#text.slice(offset, last.endOffset)
  }

  /**
   * Takes the tokens up to the closing mark that belongs to the opening one just taken, and that mark, and gives those
   * between.
   *
   * @throws TextError when the marks do not match.
   */
  takeUntilClosed(openerToken: TextToken): readonly TextToken[] {
    const first = this.#index
    const closers = [closerByOpener.get(openerToken.text)]
    while (closers.length > 0) {
      const token = this.take()
      if (token.kind === 'end') {
        throw new TextError({ reason: `'${openerToken.text}' without its end`, offset: openerToken.offset })
      }
      if (token.kind !== 'symbol') continue
      const closer = closerByOpener.get(token.text)
      if (closer !== undefined) closers.push(closer)
      else if ((token.text === ')' || token.text === ']') && closers.pop() !== token.text) {
        throw new TextError({ reason: `'${token.text}' closes nothing`, offset: token.offset })
      }
    }
    return this.#tokens.slice(first, this.#index - 1)
  }
}

/** The tokens as text with single blanks where any stood, a blank after each comma, and no comments. */
export function compactText(tokens: readonly TextToken[]): string {
  let text = ''
  let previous: TextToken | undefined
  for (const token of tokens) {
    const isAfterComma = previous?.text === ','
    const isApart = previous !== undefined && token.text !== ',' && token.offset > previous.endOffset
    text += (isAfterComma || isApart ? ' ' : '') + token.text
    previous = token
  }
  return text
}
