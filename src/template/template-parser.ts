// Makes the statements of a template out of its text and tags.

import { parseAssignment, parseExpression, parseForClause } from './expression-parser.ts'
import type { Branch, ExceptHandler, Statement } from './syntax.types.ts'
import { lineOf, readSegments, type Segment, type TagSegment } from './tag-reader.ts'
import { limitFault, syntaxFault } from './template-error.ts'

/** @throws TemplateFault for whatever is no template. */
export function parseTemplate(source: string, start: number, nestingMax: number): readonly Statement[] {
  return new TemplateParser(source, start, nestingMax).read()
}

interface Tag {
  /** The first word. */
  readonly operator: string
  /** What follows it, trimmed. */
  readonly suffix: { readonly text: string; readonly offset: number }
  readonly offset: number
}

interface OpenBlock {
  readonly operator: string
  readonly offset: number
}

/** Which blocks an inner tag may stand in. */
const parentsByInnerTag: ReadonlyMap<string, readonly string[]> = new Map([
  ['else', ['if', 'for', 'while', 'try']],
  ['elif', ['if']],
  ['except', ['try']],
  ['finally', ['try']],
])
const refusedTags: ReadonlySet<string> = new Set(
  'raw apply block include extends module autoescape whitespace super'.split(' '),
)

class TemplateParser {
  readonly #source: string
  readonly #segments: readonly Segment[]
  readonly #nestingMax: number
  readonly #openBlocks: OpenBlock[] = []
  #index = 0

  constructor(source: string, start: number, nestingMax: number) {
    this.#source = source
    this.#segments = readSegments(source, start)
    this.#nestingMax = nestingMax
  }

  read(): readonly Statement[] {
    const { body } = this.#readBody()
    return body
  }

  /** Statements up to a tag that belongs to the open block (`end`, `else` …), which is taken, or to the end. */
  #readBody(): { readonly body: readonly Statement[]; readonly stop: Tag | null } {
    const body: Statement[] = []
    for (let segment = this.#take(); segment !== undefined; segment = this.#take()) {
      if (segment.kind === 'text') body.push(segment)
      else if (segment.kind === 'print') {
        const value = parseExpression(segment, this.#nestingMax)
        body.push({ kind: 'print', offset: segment.offset, source: segment.text, value })
      } else {
        const tag = readTagWords(segment)
        if (tag.operator === 'end' || parentsByInnerTag.has(tag.operator)) {
          this.#checkInnerTag(tag)
          return { body, stop: tag }
        }
        body.push(this.#readStatement(tag))
      }
    }
    const block = this.#openBlocks.at(-1)
    if (block === undefined) return { body, stop: null }
    const place = lineOf(this.#source, block.offset)
    throw syntaxFault(`Missing {% end %} block for ${block.operator} ${place}`, block.offset)
  }

  #take(): Segment | undefined {
    const segment = this.#segments[this.#index]
    this.#index += 1
    return segment
  }

  #fault(reason: string, tag: Tag): Error {
    return syntaxFault(`${reason} ${lineOf(this.#source, tag.offset)}`, tag.offset)
  }

  #checkInnerTag(tag: Tag): void {
    const block = this.#openBlocks.at(-1)
    if (tag.operator === 'end') {
      if (block === undefined) throw this.#fault('Extra {% end %} block', tag)
      return
    }
    // `{% else if x %}` is no `elif`: read as an `else` it would give other rows without a word.
    const isBare = tag.operator === 'else' || tag.operator === 'finally'
    if (isBare && tag.suffix.text !== '') throw syntaxFault('invalid syntax', tag.suffix.offset)
    const parents = parentsByInnerTag.get(tag.operator) ?? []
    if (block === undefined) throw this.#fault(`${tag.operator} outside ${parents.join('/')} block`, tag)
    if (!parents.includes(block.operator)) {
      throw this.#fault(`${tag.operator} block cannot be attached to ${block.operator} block`, tag)
    }
  }

  #readStatement(tag: Tag): Statement {
    switch (tag.operator) {
      case 'if':
      case 'for':
      case 'while':
      case 'try':
        return this.#readBlock(tag)
      case 'set': {
        if (tag.suffix.text === '') throw this.#fault('set missing statement', tag)
        return { kind: 'set', offset: tag.offset, ...parseAssignment(tag.suffix, this.#nestingMax) }
      }
      case 'break':
      case 'continue':
        return this.#readJump(tag, tag.operator)
      case 'import':
      case 'from': {
        const line = this.#source.slice(0, tag.offset).split('\n').length
        throw syntaxFault(`${tag.operator} is forbidden at <string>:${line}`, tag.offset)
      }
      default:
        if (refusedTags.has(tag.operator)) throw this.#fault(`${tag.operator} is not supported`, tag)
        throw this.#fault(`unknown operator: '${tag.operator}'`, tag)
    }
  }

  #readJump(tag: Tag, kind: 'break' | 'continue'): Statement {
    if (tag.suffix.text !== '') throw syntaxFault('invalid syntax', tag.suffix.offset)
    const isInLoop = this.#openBlocks.some(({ operator }) => operator === 'for' || operator === 'while')
    if (!isInLoop) throw this.#fault(`${kind} outside for/while block`, tag)
    return { kind }
  }

  #readBlock(tag: Tag): Statement {
    if (this.#openBlocks.length >= this.#nestingMax) {
      throw limitFault(`blocks are nested deeper than ${this.#nestingMax} levels`, tag.offset)
    }
    this.#openBlocks.push({ operator: tag.operator, offset: tag.offset })
    const statement = this.#readOpenBlock(tag)
    this.#openBlocks.pop()
    return statement
  }

  #readOpenBlock(tag: Tag): Statement {
    const { offset } = tag
    if (tag.operator === 'if') return this.#readIf(tag)
    if (tag.operator === 'try') {
      if (tag.suffix.text !== '') throw syntaxFault('invalid syntax', tag.suffix.offset)
      return this.#readTry(tag)
    }
    if (tag.operator === 'while') {
      const condition = parseExpression(tag.suffix, this.#nestingMax)
      return { kind: 'while', offset, condition, ...this.#readLoopBodies() }
    }
    const clause = parseForClause(tag.suffix, this.#nestingMax)
    return { kind: 'for', offset, ...clause, ...this.#readLoopBodies() }
  }

  #readIf(tag: Tag): Statement {
    const branches: Branch[] = []
    let head: Tag | null = tag
    while (head !== null && head.operator !== 'end' && head.operator !== 'else') {
      const condition = parseExpression(head.suffix, this.#nestingMax)
      const { body, stop } = this.#readBody()
      branches.push({ condition, source: head.suffix.text, body })
      head = stop
    }
    return { kind: 'if', branches, otherwise: this.#readElse(head) }
  }

  #readLoopBodies(): { readonly body: readonly Statement[]; readonly otherwise: readonly Statement[] } {
    const { body, stop } = this.#readBody()
    return { body, otherwise: this.#readElse(stop) }
  }

  /** The body after `else`, which must be the last one; nothing after another tag. */
  #readElse(tag: Tag | null): readonly Statement[] {
    if (tag === null || tag.operator !== 'else') return []
    const { body, stop } = this.#readBody()
    if (stop !== null && stop.operator !== 'end') throw syntaxFault('invalid syntax', stop.offset)
    return body
  }

  #readTry(tag: Tag): Statement {
    const { body, stop } = this.#readBody()
    const handlers: ExceptHandler[] = []
    let otherwise: readonly Statement[] = []
    let last: readonly Statement[] | null = null
    let head = stop
    while (head !== null && head.operator !== 'end') {
      const read = this.#readBody()
      if (head.operator === 'except') handlers.push({ variable: readExceptVariable(head), body: read.body })
      else if (head.operator === 'else') otherwise = read.body
      else last = read.body
      head = read.stop
    }
    if (handlers.length === 0 && last === null) throw syntaxFault('invalid syntax', tag.offset)
    return { kind: 'try', body, handlers, otherwise, last: last ?? [] }
  }
}

/** `except`, `except T`, `except (T, U) as e`: the types are accepted, and every one of them catches all. */
function readExceptVariable(tag: Tag): string | null {
  const match = /^(?:[\w.]+|\([\w.,\s]+\))?(?:\s+as\s+([A-Za-z_]\w*))?$/.exec(tag.suffix.text)
  if (match === null) throw syntaxFault('invalid syntax', tag.suffix.offset)
  return match[1] ?? null
}

function readTagWords(segment: TagSegment): Tag {
  const operator = /^[A-Za-z_]+(?![A-Za-z0-9_])/.exec(segment.text)?.[0] ?? segment.text.split(/\s/, 1)[0] ?? ''
  const rest = segment.text.slice(operator.length)
  const text = rest.trim()
  // `{% else: %}` is how Python writes it, and `{% if x: %}` too.
  const suffixText = text.endsWith(':') ? text.slice(0, -1).trimEnd() : text
  const offset = segment.offset + operator.length + rest.length - rest.trimStart().length
  return { operator, suffix: { text: suffixText, offset }, offset: segment.tagOffset }
}
