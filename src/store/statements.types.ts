/** How an adapter of the store runs statements of the service. Nothing above `store` sees it: there, each is a verb. */
export interface Statements {
  /** See `Store.definitionVersion`. */
  readonly definitionVersion: number
  /**
   * Runs one statement that returns no rows (DDL, truncate, …) on the control sessions, or on those for what computes. Raises
   * `StoreError`, of kind `late` behind a limit of time: a table that is made after all is dropped then.
   */
  command(sql: string, nature?: CommandNature): Promise<void>
  /**
   * Runs one query of our own and returns its rows as objects, which are few. Raises `StoreError`, of kind `silent` behind a
   * limit of time that is far more than a look at the engine's own tables takes.
   */
  rows<Row>(sql: string, nature?: RowsNature): Promise<readonly Row[]>
}

export interface CommandNature {
  /** Whether the engine computes what a caller wrote, which may take any time; absent is not. */
  readonly computes?: boolean
  /** Whether it goes through rows of tables, and takes as long as that does; absent is not. */
  readonly isLong?: boolean
  /** Whether it makes, changes or drops nothing but a pin, on which nothing depends: `definitionVersion` stays as it is. Absent is false. */
  readonly isAside?: boolean
}

export type RowsNature = Pick<CommandNature, 'isLong'>
