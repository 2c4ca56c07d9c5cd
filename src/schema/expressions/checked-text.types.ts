// Texts that the engine may be given although a caller had a part in them. Each is made only where a parser of `schema` or
// `sql` has accepted it and written it again out of its tokens.

import type { Brand } from '../../shared/brand.ts'

/** An expression, or the list of a key, over the columns of one table: a condition, a key, a TTL, a fix. */
export type CheckedExpression = Brand<string, 'CheckedExpression'>

/**
 * A SELECT of which every table is known and qualified. Words of the service's own may stand around it, and some queries have
 * nothing but those (`sql/own-query.ts`, the statements of `store/sql`).
 */
export type CheckedQuery = Brand<string, 'CheckedQuery'>

/** A column as CREATE TABLE and ALTER TABLE take it. */
export type ColumnClause = Brand<string, 'ColumnClause'>

/** An index as it follows INDEX. */
export type IndexClause = Brand<string, 'IndexClause'>

/** What follows the name of a table in CREATE TABLE. */
export type TableDefinition = Brand<string, 'TableDefinition'>
