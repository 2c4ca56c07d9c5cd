import type { QuerySource } from './source.types.ts'

/**
 * A query reads what a pipe gives through a filter, and the columns of that are not known yet: the engine is to be asked. It is
 * raised by `compileQuery`, which is then called once more.
 */
export class UndescribedOutput extends Error {
  override readonly name = 'UndescribedOutput'
  readonly source: QuerySource
  /** The query of the source with everything in its place. */
  readonly sql: string

  constructor(source: QuerySource, sql: string) {
    super(`the columns of '${source.name}' are not known`)
    this.source = source
    this.sql = sql
  }
}
