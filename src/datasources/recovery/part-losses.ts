/**
 * What is gone of the parts that were noted: pure, out of what was noted and what the engine has now.
 *
 * 1. Merges and mutations put one part into the place of others, so a noted part is there when one covers its blocks. Where
 *    no row may go, that one has at least the rows of all that it covers: a merge reaches over the gap of a lost part too.
 * 2. A part that is lost stays so until it is back with its name, its content and its rows. Its blocks prove nothing any
 *    more: their numbers are given out once again, and merges reach over them.
 */

export interface NotedPart {
  readonly name: string
  readonly partition: string
  readonly minBlock: number
  readonly maxBlock: number
  readonly rowCount: number
  /** The engine's hash of its files; absent in notes of older versions. */
  readonly content?: string
}

export interface NotedTable {
  readonly uuid: string
  readonly parts: readonly NotedPart[]
}

export type NotedTables = Readonly<Record<string, NotedTable>>

/** A part that is gone, or what is missing in one that has taken its place. */
export interface LostPart extends NotedPart {
  readonly uuid: string
  /** When it was noted last, as ISO 8601. */
  readonly notedAt: string
}

/** What merges of a table may let go: nothing, all but one row of each key, or whole parts. */
export type LettingGo = 'nothing' | 'repeated-keys' | 'parts'

export interface TableJudgement {
  readonly gone: readonly NotedPart[]
  /** Parts that cover others and have too few rows for that; `rowCount` is what is missing. */
  readonly short: readonly NotedPart[]
  /** Parts whose count of rows is another than it was, as they were noted. */
  readonly miscounted: readonly NotedPart[]
}

/** Precondition: it is the same table. */
export function judgeTable(noted: NotedTable, found: NotedTable, lettingGo: LettingGo): TableJudgement {
  const byName = new Map(found.parts.map((part) => [part.name, part]))
  const others = noted.parts.filter((part) => !isSame(part, byName.get(part.name)))
  const miscounted = noted.parts.filter((part) => {
    const other = byName.get(part.name)
    return isSame(part, other) && other.rowCount !== part.rowCount
  })
  const coveredRows = new Map<NotedPart, number>()
  const gone: NotedPart[] = []
  const findCover = coverFinder(found.parts)
  for (const part of others) {
    const cover = findCover(part)
    if (cover === undefined) gone.push(part)
    else coveredRows.set(cover, (coveredRows.get(cover) ?? 0) + part.rowCount)
  }
  const short =
    lettingGo === 'nothing'
      ? [...coveredRows]
          .filter(([cover, rowCount]) => rowCount > cover.rowCount)
          .map(([{ content: _, ...cover }, rowCount]) => ({ ...cover, rowCount: rowCount - cover.rowCount }))
      : []
  return { gone, short, miscounted }
}

/** Whether a part that was lost is there again. */
export function isBack(lost: LostPart, found: NotedTable | undefined): boolean {
  if (found?.uuid !== lost.uuid || lost.content === undefined) return false
  return found.parts.some(
    ({ name, content, rowCount }) => name === lost.name && content === lost.content && rowCount === lost.rowCount,
  )
}

export function rowsOf(parts: readonly NotedPart[]): number {
  return parts.reduce((sum, { rowCount }) => sum + rowCount, 0)
}

function isSame(part: NotedPart, other: NotedPart | undefined): other is NotedPart {
  if (other === undefined || other.name !== part.name) return false
  return part.content === undefined || part.content === other.content
}

/** Active parts of a partition never overlap, so the one that begins last at or before a block is the only one that may have it. */
function coverFinder(parts: readonly NotedPart[]): (part: NotedPart) => NotedPart | undefined {
  const byPartition = new Map<string, NotedPart[]>()
  for (const part of parts) {
    const list = byPartition.get(part.partition)
    if (list === undefined) byPartition.set(part.partition, [part])
    else list.push(part)
  }
  for (const list of byPartition.values()) list.sort((a, b) => a.minBlock - b.minBlock)
  return (part) => {
    const cover = lastAtOrBefore(byPartition.get(part.partition) ?? [], part.minBlock)
    // One of the same name is another one, behind a number that was given out again.
    return cover !== undefined && cover.maxBlock >= part.maxBlock && cover.name !== part.name ? cover : undefined
  }
}

function lastAtOrBefore(sorted: readonly NotedPart[], block: number): NotedPart | undefined {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((sorted[middle]?.minBlock ?? 0) <= block) low = middle + 1
    else high = middle
  }
  return sorted[low - 1]
}
