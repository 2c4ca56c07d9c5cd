/**
 * Stores the rows of a block for which one INSERT takes too much time or memory.
 *
 * They are inserted in pieces into a table of the same columns that nobody reads, where the DEFAULTs are computed; out of that
 * they are inserted at once, under the block's tokens: some of its partitions, or a view, may have been stored by the INSERT
 * that failed. So there is no other way to cut a block, and its rows are stored once.
 */

import type { DataSource } from '../../catalog/data-source.types.ts'
import { partExpression } from '../../codec/arrow/part-expression.ts'
import { assert } from '../../shared/assert.ts'
import { quoteName, quoteString } from '../../shared/text-escapes.ts'
import type { AppendRequest } from '../../store/store.types.ts'
import { isOfMemory, StoreError } from '../../store/store-error.ts'
import type { Tables } from '../../store/tables.types.ts'
import { insertFailureKind, mayBeOfRows } from './insert-failure.ts'
import { withTableLike } from './poison-rows.ts'

/**
 * What failures may cost before the search is given up: 64 that each took the longest time that an INSERT may take, a thousand
 * for lack of memory, and thousands that came at once.
 */
const spendMax = 5_120
const failureCosts = { slow: 80, large: 5, refused: 1 }
/** Pieces in which the rest is tried afterwards, each once. */
const lastPieces = 32
/** When so many single rows took too much and nothing was taken, the definition is too costly for any. */
const vainRowsMax = 8
/** Pieces of the same size that are taken before a larger one is tried again, at most. */
const patienceMax = 32

export interface FoundRows {
  /** By number. */
  readonly refused: readonly number[]
  /** Those among them that cost too much. */
  readonly costly: readonly number[]
  /** Beside these, those that were given up without a trial of each alone. */
  readonly untried: readonly number[]
}

export interface StagedRows extends FoundRows {
  /** What takes the place of parts in an append of the rows. */
  readonly source: Pick<AppendRequest, 'from' | 'layout' | 'parts' | 'rowCount'>
}

interface RowsToStage {
  readonly dataSource: DataSource
  /** Of the rows meanwhile, unquoted. */
  readonly table: string
  /** The rows by number. */
  readonly candidates: readonly number[]
  /** Appends some of them to the table, and gives how many rows that makes. */
  readonly insert: (numbers: readonly number[]) => Promise<number>
}

/** Whether it is worth while to insert the rows in pieces. */
export function isCostly(thrown: unknown): boolean {
  return insertFailureKind(thrown) === 'costly'
}

/**
 * Stages rows, and runs `use` while they are.
 * @throws StoreError when the engine fails for another reason than the rows.
 */
export async function withStagedRows<Result>(
  tables: Pick<Tables, 'countRows' | 'drop' | 'recreateLike'>,
  { dataSource, table, candidates, insert }: RowsToStage,
  use: (staged: StagedRows) => Promise<Result>,
): Promise<Result> {
  return await withTableLike(tables, { dataSource, table, keeps: 'pieces' }, async () => {
    let rowCount = 0
    const insertPiece = async (numbers: readonly number[]): Promise<void> => {
      try {
        rowCount += await insert(numbers)
      } catch (thrown) {
        // An INSERT that ends at its limit may have stored its rows: a piece is one block of a table without partitions, so all or none.
        const storedRows = isCostly(thrown) ? (await tables.countRows(table)) - rowCount : 0
        if (storedRows === 0) throw thrown
        rowCount += storedRows
      }
    }
    const found = await stageInPieces(insertPiece, candidates)
    // An empty table in the place of the one that was filled would be taken for a block that is stored.
    const staged = await tables.countRows(table)
    assert(staged === rowCount, `the rows of a block are staged in ${quoteString(table)}`)
    const targets = dataSource.columns.map(({ name }) => ({
      column: name,
      expression: partExpression(quoteName(name)),
    }))
    return await use({ ...found, source: { from: table, layout: { fields: [], targets }, parts: [], rowCount } })
  })
}

/**
 * Inserts the rows in their order, in pieces that become smaller where they fail and larger again where they do not, and gives
 * those that fail alone. When the failures have cost too much, a piece that fails is given up whole, and in the end all that is
 * left: a block must not hold up its data source for days.
 */
export async function stageInPieces(
  insert: (numbers: readonly number[]) => Promise<void>,
  candidates: readonly number[],
): Promise<FoundRows> {
  const refused: number[] = []
  const costly: number[] = []
  const untried: number[] = []
  const pieces = new PieceSize(Math.max(1, Math.ceil(candidates.length / 2)))
  let spent = 0
  for (let start = 0; start < candidates.length; ) {
    if (!pieces.wasTaken && costly.length >= vainRowsMax) {
      untried.push(...candidates.slice(start))
      break
    }
    const piece = candidates.slice(start, start + pieces.size)
    const outcome = await tryPiece(insert, piece)
    if (outcome === 'taken') {
      pieces.noteTaken()
      start += piece.length
      continue
    }
    const isOneTry = spent >= spendMax
    spent += failureCosts[outcome]
    if (!isOneTry) pieces.noteFailed(piece.length, outcome)
    if (piece.length === 1) {
      refused.push(...piece)
      if (outcome !== 'refused') costly.push(...piece)
    } else if (isOneTry) untried.push(...piece)
    if (piece.length === 1 || isOneTry) start += piece.length
    if (!isOneTry && spent >= spendMax) pieces.keep(Math.ceil((candidates.length - start) / lastPieces))
  }
  return { refused, costly, untried }
}

/** Rows of a piece: half of what fails, and twice of what is taken, later each time that this was too much. */
class PieceSize {
  size: number
  wasTaken = false
  #taken = 0
  #patience = 1
  /** Was too much when it was tried last. */
  #tooMuch = Number.POSITIVE_INFINITY
  #hasGrown = false
  #isKept = false

  constructor(size: number) {
    this.size = size
  }

  /** From now on all pieces are of this size. */
  keep(size: number): void {
    this.size = Math.max(1, size)
    this.#isKept = true
  }

  noteTaken(): void {
    this.wasTaken = true
    this.#taken += 1
    this.#hasGrown = false
    if (this.#isKept || (this.size * 2 >= this.#tooMuch && this.#taken < this.#patience)) return
    this.size *= 2
    this.#taken = 0
    this.#hasGrown = true
  }

  noteFailed(length: number, outcome: PieceFailure): void {
    if (this.#hasGrown && outcome !== 'refused') {
      this.#patience = Math.min(patienceMax, this.#patience * 2)
      this.#tooMuch = length
    }
    this.#hasGrown = false
    this.#taken = 0
    this.size = Math.max(1, Math.ceil(length / 2))
  }
}

type PieceFailure = keyof typeof failureCosts

async function tryPiece(
  insert: (numbers: readonly number[]) => Promise<void>,
  piece: readonly number[],
): Promise<PieceFailure | 'taken'> {
  try {
    await insert(piece)
    return 'taken'
  } catch (error) {
    if (isCostly(error)) return error instanceof StoreError && isOfMemory(error) ? 'large' : 'slow'
    if (mayBeOfRows(error)) return 'refused'
    throw error
  }
}
