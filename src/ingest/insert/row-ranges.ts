// Rows by number, as ranges: what a search finds is few ranges, however many rows they have.

export interface RowRange {
  readonly start: number
  /** Behind the last one. */
  readonly end: number
}

/** The ranges of numbers that follow one another, in order. */
export function rangesOf(numbers: Iterable<number>): readonly RowRange[] {
  const ranges: { start: number; end: number }[] = []
  for (const number of [...numbers].sort((a, b) => a - b)) {
    const last = ranges.at(-1)
    if (last?.end === number) last.end = number + 1
    else ranges.push({ start: number, end: number + 1 })
  }
  return ranges
}

/** True for the rows of these ranges, by the column of their numbers. Precondition: there is one. */
export function conditionOfRanges(column: string, ranges: readonly RowRange[]): string {
  const single = ranges.filter(({ start, end }) => end === start + 1).map(({ start }) => start)
  const longer = ranges.filter(({ start, end }) => end > start + 1)
  const conditions = longer.map(({ start, end }) => `(${column} >= ${start} AND ${column} < ${end})`)
  if (single.length > 0) conditions.push(`${column} IN (${single.join(', ')})`)
  return `(${conditions.join(' OR ')})`
}
