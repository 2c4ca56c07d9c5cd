// Cuts a template into text and tags, by the rules of Tornado's template syntax.

import { syntaxFault } from './template-error.ts'

export type Segment = TextSegment | TagSegment

/** As it stands in the source: what is left out of a text, as a comment, ends one and begins another. */
export interface TextSegment {
  readonly kind: 'text'
  readonly text: string
  readonly offset: number
}

/** The text stands without braces and outer blanks; `tagOffset` is that of the brace. */
export interface TagSegment {
  readonly kind: 'print' | 'block'
  readonly text: string
  readonly offset: number
  readonly tagOffset: number
}

/**
 * Text and tags in order; comments are gone, tags without their braces and outer blanks.
 *
 * @param start where the text begins, after the mark `%`.
 * @throws TemplateFault for a tag without its end, or an empty one.
 */
export function readSegments(source: string, start: number): readonly Segment[] {
  const segments: Segment[] = []
  const budget: ScanBudget = { edges: source.length * edgesPerCharacter }
  const addText = (from: number, to: number): void => {
    if (to > from) segments.push({ kind: 'text', text: source.slice(from, to), offset: from })
  }
  let offset = start
  for (;;) {
    const open = findTag(source, offset)
    if (open === null) break
    if (source.charAt(open + 2) === '!') {
      addText(offset, open + 2)
      offset = open + 3
      continue
    }
    addText(offset, open)
    const tag = readTag(source, open, budget)
    offset = tag.end
    if (tag.segment !== null) segments.push(tag.segment)
  }
  addText(offset, source.length)
  return segments
}

/** Of `{{{` the inner two open the tag. */
function findTag(source: string, start: number): number | null {
  for (let open = source.indexOf('{', start); open >= 0; open = source.indexOf('{', open + 1)) {
    const next = source.charAt(open + 1)
    if (next !== '{' && next !== '%' && next !== '#') continue
    if (next === '{' && source.charAt(open + 2) === '{') continue
    return open
  }
  return null
}

function readTag(
  source: string,
  open: number,
  budget: ScanBudget,
): { readonly segment: Segment | null; readonly end: number } {
  const mark = source.charAt(open + 1)
  if (mark === '#') {
    const close = source.indexOf('#}', open + 2)
    if (close < 0) throw syntaxFault(`Missing end comment #} ${lineOf(source, open)}`, open)
    return { segment: null, end: close + 2 }
  }
  const closer = mark === '{' ? '}}' : '%}'
  const close = findCloser(source, { start: open + 2, closer, budget })
  if (close < 0) {
    const what = mark === '{' ? 'expression }}' : 'block %}'
    throw syntaxFault(`Missing end ${what} ${lineOf(source, open)}`, open)
  }
  const inner = source.slice(open + 2, close)
  const text = inner.trim()
  const end = close + 2
  const offset = open + 2 + inner.length - inner.trimStart().length
  if (text === '') {
    const what = mark === '{' ? 'Empty expression' : 'Empty block tag ({% %})'
    throw syntaxFault(`${what} ${lineOf(source, open)}`, open)
  }
  if (mark === '{') return { segment: { kind: 'print', text, offset, tagOffset: open }, end }
  if (/^comment(?!\w)/.test(text)) return { segment: null, end }
  return { segment: { kind: 'block', text, offset, tagOffset: open }, end }
}

/** Tags that never close are looked through to the end each: so many marks in all, and then it is the first closer. */
interface ScanBudget {
  edges: number
}

const edgesPerCharacter = 4

interface CloserSearch {
  readonly start: number
  readonly closer: string
  readonly budget: ScanBudget
}

const edgeText = /'''|"""|['"{}%\n\\]/g

/**
 * The first closer outside of strings and inner braces, so that `{{ f({'a': {'b': 1}}) }}` is whole; when quotes or braces
 * do not pair, the first closer at all.
 */
function findCloser(source: string, { start, closer, budget }: CloserSearch): number {
  const first = source.indexOf(closer, start)
  if (first < 0 || /^\s*comment(?!\w)/.test(source.slice(start, start + 40))) return first
  let depth = 0
  edgeText.lastIndex = start
  for (let edge = edgeText.exec(source); edge !== null; edge = edgeText.exec(source)) {
    const [text] = edge
    budget.edges -= 1
    if (budget.edges < 0) return first
    if (depth === 0 && source.startsWith(closer, edge.index)) return edge.index
    if (text === '{') depth += 1
    else if (text === '}') depth -= 1
    else if (text.startsWith("'") || text.startsWith('"')) {
      const end = endOfString(source, edge.index + text.length, text)
      if (end === null) return first
      budget.edges -= end - edge.index
      edgeText.lastIndex = end
    }
    if (depth < 0) return first
  }
  return first
}

function endOfString(source: string, start: number, quote: string): number | null {
  for (let at = start; at < source.length; at += 1) {
    if (source.startsWith(quote, at)) return at + quote.length
    if (source.charAt(at) === '\\') at += 1
    else if (source.charAt(at) === '\n' && quote.length === 1) return null
  }
  return null
}

/** `at line 3`, as messages end. */
export function lineOf(source: string, offset: number): string {
  return `at line ${source.slice(0, offset).split('\n').length}`
}
