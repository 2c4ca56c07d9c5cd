/** What stands in a quarantine, by column and reason. */
export interface QuarantineSummary {
  readonly rowCount: number
  /** Largest first; a row with several wrong columns counts in several. */
  readonly groups: readonly QuarantineGroup[]
  /** True when there are more groups than are told. */
  readonly hasMoreGroups: boolean
  /** A schema that would have taken the values of all groups; null when no change of types would. */
  readonly schema: string | null
}

export interface QuarantineGroup {
  /** Empty when records as a whole are wrong. */
  readonly column: string
  /** Without the value: `value on column 'a' is not Int32`. */
  readonly reason: string
  readonly rowCount: number
  /** `YYYY-MM-DD hh:mm:ss`, of the first row and of the last. */
  readonly first: string
  readonly last: string
  /** Some of the values, each cut to a readable length; null is one that was missing. */
  readonly samples: readonly (string | null)[]
  readonly suggestion: TypeSuggestion | null
}

export interface TypeSuggestion {
  readonly type: string
  /** False when there were too many different values to try all of them. */
  readonly isForAll: boolean
  /** An expression for the `fixes` of a replay that makes NULL of words that stand for nothing; null without such words. */
  readonly fix: string | null
}

export interface ReplayRequest {
  /** SQL over the columns of the quarantine; undefined takes all rows. */
  readonly condition: string | undefined
  /** SQL by column, over the columns of the quarantine: what the value is to be instead. */
  readonly fixes: ReadonlyMap<string, string>
}

export interface ReplayReport {
  /** Rows that the condition chose. */
  readonly selectedRows: number
  /** Rows that are in the data source now, and no longer in quarantine. */
  readonly replayedRows: number
  /** Rows that still do not fit, and stay in quarantine as they were. */
  readonly failedRows: number
  /** Rows that were chosen and left for another replay, as one takes so many at most. */
  readonly leftRows: number
  /** Why rows failed, largest first. */
  readonly failures: readonly ReplayFailure[]
  /** Why a view did not take rows that the data source has now; null when each did. */
  readonly viewFailure: string | null
}

export interface ReplayFailure {
  readonly column: string
  readonly reason: string
  readonly rowCount: number
  /** Reasons with their values. */
  readonly samples: readonly string[]
  /** The fix for values that may have been taken when their row was set aside. */
  readonly hint?: string
}
