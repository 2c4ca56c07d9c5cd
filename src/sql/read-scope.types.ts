import type { Brand } from '../shared/brand.ts'

/** What a caller may read. Resources are told by their ids, which stay when they are renamed. */
export interface ReadRules {
  /** The same for two scopes that let through the same: plans and answers are kept by it. */
  readonly signature: string
  /** Whether a query of the caller may name this data source, pipe or node. What a pipe reads is the pipe's own matter. */
  readonly mayRead: (id: string) => boolean
  /** The condition that every row of the data source must meet, wherever it is read; null for all rows. */
  readonly filterOf: (dataSourceId: string) => string | null
  /** Whether a template that the caller sends itself may use secrets: its answer would show them. */
  readonly mayUseSecrets: boolean
}

/** Rules that `access` made, and nobody else: whoever reads gets a scope, and cannot write one. */
export type ReadScope = Brand<ReadRules, 'ReadScope'>
