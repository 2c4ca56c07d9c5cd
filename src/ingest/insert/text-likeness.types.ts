/**
 * Whether the text is the bytes as they were sent, so that a place in the one is a place in the others: `same` to the end, or `open`,
 * when it is so far, and what comes tells how it is written.
 */
export type LikenessKind = 'open' | 'other' | 'same'

/** As far as the text was read. */
export interface TextLikeness {
  kind: LikenessKind
}
