// Writes a query again out of its tokens, with other text in the place of some of them. Nothing is ever generated from a
// tree, so the engine reads what the caller wrote.

import type { Token } from './token.types.ts'

/** A text of SQL with what stands in the place of parts of it. */
export interface SplicedText {
  /** As it was written. */
  readonly source: string
  /** The node whose text it is; null for the caller's own query. */
  readonly node: string | null
  readonly tokens: readonly Token[]
  /** The end of what is written, as an index of tokens. */
  readonly end: number
  /** In order; none begins before the one before it ends. */
  readonly edits: readonly Edit[]
  /** All of it, written. */
  readonly text: string
}

/** What is written in the place of the tokens from `start` to `end`; an insertion when both are the same. */
export interface Edit {
  readonly start: number
  readonly end: number
  readonly before: string
  /** Stands between `before` and `after`. */
  readonly inner: SplicedText | null
  readonly after: string
}

/** Writes the text of one query. */
export function splice(parts: Omit<SplicedText, 'text'>): SplicedText {
  let text = ''
  walk(parts, (piece) => {
    text += piece
    return false
  })
  return { ...parts, text }
}

/** Where something of a spliced text comes from. */
export interface Origin {
  readonly source: string
  readonly node: string | null
  /** In `source`, in UTF-16 units. */
  readonly offset: number
}

/** What the UTF-16 unit at `offset` of the written text comes from. */
export function originOf(spliced: SplicedText, offset: number): Origin {
  let left = offset
  let found: Origin | undefined
  let last = 0
  walk(spliced, (piece, index, inner) => {
    const start = spliced.tokens[index]?.offset ?? spliced.source.length
    last = start
    if (left >= piece.length) {
      left -= piece.length
      return false
    }
    const isToken = inner === null && spliced.tokens[index]?.text === piece
    found = inner === null ? { ...spliced, offset: isToken ? start + left : start } : originOf(inner, left)
    return true
  })
  const { source, node } = spliced
  return found === undefined
    ? { source, node, offset: last }
    : { source: found.source, node: found.node, offset: found.offset }
}

/** Sees one piece of the text, which comes of the token with this index or, as a whole, of `inner`; true ends the walk. */
type Visit = (piece: string, index: number, inner: SplicedText | null) => boolean

function walk({ tokens, end, edits }: Omit<SplicedText, 'text'>, visit: Visit): void {
  let next = 0
  for (let index = 0; index <= end; ) {
    const edit = edits[next]
    const token = tokens[index]
    if (edit?.start === index) {
      const isEmpty = edit.before === '' && edit.inner === null && edit.after === ''
      const isSpaced = !isEmpty && edit.end > index && token !== undefined && needsSpace(token, tokens[index - 1])
      if (isSpaced && visit(' ', index, null)) return
      if (edit.before !== '' && visit(edit.before, index, null)) return
      if (edit.inner !== null && visit(edit.inner.text, index, edit.inner)) return
      if (edit.after !== '' && visit(edit.after, index, null)) return
      next += 1
      index = edit.end
      continue
    }
    if (token === undefined || index === end) return
    if (needsSpace(token, tokens[index - 1]) && visit(' ', index, null)) return
    if (visit(token.text, index, null)) return
    index += 1
  }
}

/** Two names in a row need a space even where the source had none: `` `a`"b" `` would become one name, `` `a``b` ``. */
function needsSpace(token: Token, previous: Token | undefined): boolean {
  if (previous === undefined) return false
  return token.isSpaced || (token.kind !== 'symbol' && previous.kind !== 'symbol')
}
