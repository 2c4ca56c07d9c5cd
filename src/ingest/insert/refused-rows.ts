// Which of some rows the engine refuses, found by halves: a bad row among n costs about 2 log n trials.

import { insertFailureKind, mayBeOfRows } from './insert-failure.ts'

/** Inserts that a search may try, some milliseconds each: enough to find each of fifty rows among ten thousand. */
const trialsMax = 1_000
/** When not one of so many pieces was taken, the definition refuses everything, and it is not worth while to go on. */
const vainTrialsMax = 300

export interface RowTrials {
  /** Inserts these rows where nobody reads them. */
  readonly insert: (numbers: readonly number[]) => Promise<void>
  /** The same with one row that has nothing in it. */
  readonly insertBlank: () => Promise<void>
}

/** What several searches for the rows of one block may cost together. */
export interface TrialCounts {
  tried: number
  taken: number
}

/**
 * Halves what is refused, the largest pieces first. When the trials are used up, what is refused as a whole by then is small
 * pieces, and is set aside whole: a row beside a refused one goes with it, rather than that a block whose rows are refused
 * by the thousand holds up its data source for minutes.
 *
 * @throws what a trial raised when the engine fails for another reason than the rows: it says so, or refuses each row, and a
 * blank one too, with an error that may be its own.
 */
export async function findRefusedRows(
  trials: RowTrials,
  candidates: readonly number[],
  counts: TrialCounts = { tried: 0, taken: 0 },
): Promise<readonly number[]> {
  const { refused, undecided } = await searchRefusedRows(trials, candidates, { counts, trialsMax })
  return [...refused, ...undecided]
}

export interface SearchedRows {
  /** Those that are refused alone. */
  readonly refused: readonly number[]
  /** Those of pieces that were refused as a whole when the trials were used up. */
  readonly undecided: readonly number[]
}

/** The same, which tells what was not tried to its end. `trialsMax` bounds all searches that share the counts. */
export async function searchRefusedRows(
  trials: RowTrials,
  candidates: readonly number[],
  { counts, trialsMax }: { readonly counts: TrialCounts; readonly trialsMax: number },
): Promise<SearchedRows> {
  const undecided: number[] = []
  const found: number[] = []
  const refused: (readonly number[])[] = []
  let unclear: unknown = null
  const judge = async (rows: readonly number[]): Promise<void> => {
    if (rows.length === 0) return
    const failure = await tryRows(trials, rows, counts)
    if (failure === null) return
    if (failure.isUnclear) unclear = failure.error
    if (rows.length === 1) found.push(...rows)
    else refused.push(rows)
  }
  await judge(candidates)
  // A piece is behind all larger ones: a queue, read by its position, as shifting a long array would cost its length.
  for (let next = 0; next < refused.length; next += 1) {
    const rows = refused[next] ?? []
    if (isSpent(counts, trialsMax)) for (const row of rows) undecided.push(row)
    else {
      const middle = rows.length >> 1
      await judge(rows.slice(0, middle))
      await judge(rows.slice(middle))
    }
  }
  if (unclear !== null && found.length + undecided.length === candidates.length) await trials.insertBlank()
  return { refused: found, undecided }
}

function isSpent({ tried, taken }: TrialCounts, trialsMax: number): boolean {
  return tried >= trialsMax || (taken === 0 && tried >= vainTrialsMax)
}

interface TrialFailure {
  readonly error: unknown
  readonly isUnclear: boolean
}

async function tryRows(
  { insert }: RowTrials,
  rows: readonly number[],
  counts: TrialCounts,
): Promise<TrialFailure | null> {
  counts.tried += 1
  try {
    await insert(rows)
    counts.taken += 1
    return null
  } catch (error) {
    if (!mayBeOfRows(error)) throw error
    return { error, isUnclear: insertFailureKind(error) === 'unclear' }
  }
}
