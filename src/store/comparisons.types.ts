/** Two tables of the same columns and keys, compared partition by partition. Raises `StoreError`. */
export interface Comparisons {
  /** What differs, of each partition that one of them has rows in. */
  compare(tables: ComparedTables): Promise<readonly ComparedPartition[]>
}

export interface ComparedTables {
  /** Has the rows that there are to be. */
  readonly expected: string
  /** Has those that there are. */
  readonly found: string
  readonly manner: ComparedManner
  /** Those that are compared; in samples the first of them stand where rows have no key. */
  readonly columns: readonly ComparedColumn[]
  /** Samples of keys of a partition. */
  readonly samplesMax: number
  readonly timeMaxMs: number
}

/**
 * What of two tables is the same.
 *
 * - `rows`: each row, as often as it is there.
 * - `merged`: what is left of a sorting key when the engine has merged all.
 * - `groups`: rows of the same plain columns, whose states are merged by the comparison.
 * - `last`: of each sorting key one of the rows with the highest version; which of them is no difference.
 * - `signs`: rows with their signs added up.
 */
export type ComparedManner =
  | { readonly kind: 'groups' | 'merged' | 'rows' }
  | { readonly kind: 'last'; readonly version: string | null; readonly deleted: string | null }
  | { readonly kind: 'signs'; readonly sign: string }

export interface ComparedColumn {
  readonly name: string
  /** The function that brings its values together; null for a plain one. */
  readonly aggregate: ComparedAggregate | null
}

export interface ComparedAggregate {
  /** `sum`, `quantilesIf`, … */
  readonly name: string
  /** In brackets; empty when it has none. */
  readonly parameters: string
  /** Whether the column holds states of it, or else values that it takes. */
  readonly isState: boolean
}

export interface ComparedPartition {
  readonly id: string
  readonly rowsExpected: number
  readonly rowsFound: number
  readonly rowsMissing: number
  readonly rowsExtra: number
  /** Of keys that both have. */
  readonly rowsDifferent: number
  /** Keys of rows that are not the same, as texts. */
  readonly samples: readonly string[]
}
