import type { Brand } from '../shared/brand.ts'

/** What a caller may read. Resources are told by their ids, which stay when they are renamed. */
export interface ReadRules {
  /** The same for two scopes that let through the same: plans and answers are kept by it. */
  readonly signature: string
  /**
   * Whether a query of the caller may name this data source, pipe or node. What a pipe reads is the pipe's own matter. Nodes are
   * for scopes that may read everything.
   */
  readonly mayRead: (id: string) => boolean
  /** Whether the caller may know of everything that exists: only then is what is missing told apart from what is denied. */
  readonly seesAll: boolean
  /** The condition that every row of the data source must meet, wherever it is read; null for all rows. */
  readonly filterOf: (dataSourceId: string) => string | null
  /** The condition on the rows that a pipe gives, wherever it is read; null for all rows. */
  readonly outputFilterOf: (pipeId: string) => string | null
  /** Whether any filter hides rows from the caller. */
  readonly isFiltered: boolean
  /** Values of a pipe's parameters that the request cannot change; null for none. */
  readonly fixedParametersOf: (pipeId: string) => FixedParameters | null
  /** Whether a template that the caller sends itself may use secrets: its answer would show them. */
  readonly mayUseSecrets: boolean
}

export type FixedParameters = ReadonlyMap<string, FixedValue>

/** A value as JSON has it. An integer that a double cannot hold is its digits. */
export type FixedValue =
  | string
  | number
  | boolean
  | null
  | readonly FixedValue[]
  | { readonly [key: string]: FixedValue }

/** Rules that `access` made, and nobody else: whoever reads gets a scope, and cannot write one. */
export type ReadScope = Brand<ReadRules, 'ReadScope'>
