/** What may be told of a variable: everything but its value. Times are epoch milliseconds. */
export interface Variable {
  readonly name: string
  /** The only type there is. */
  readonly type: 'secret'
  readonly createdAt: number
  readonly updatedAt: number
  /** Who wrote the value, e.g. `token: 'admin'`. */
  readonly editedBy: string
}

export interface VariableValue {
  readonly value: string
  readonly editedBy: string
}

/** The variables of the workspace, which templates read as secrets. Reads are synchronous and see what is on disk. */
export interface Variables {
  /** Another number after every change, in one run of the process: what was derived from a value holds for one. */
  readonly version: number
  /** In order of their names. */
  list(): readonly Variable[]
  find(name: string): Variable | undefined
  /**
   * The value of the secret; undefined when there is none. It must be neither logged nor answered.
   *
   * @throws SECRET_UNREADABLE (503) when the key is missing that it was sealed with.
   */
  secretOf(name: string): string | undefined
  /** The values that can be read. They must be neither logged nor answered. */
  values(): readonly string[]
  /**
   * @throws NAME_INVALID, VALUE_TOO_LARGE (400), VARIABLES_TOO_MANY (403), VARIABLE_EXISTS (409), CHANGES_TOO_MANY (503)
   */
  create(name: string, value: VariableValue): Promise<Variable>
  /** @throws VALUE_TOO_LARGE (400), VARIABLE_NOT_FOUND (404), CHANGES_TOO_MANY (503) */
  update(name: string, value: VariableValue): Promise<Variable>
  /** @throws VARIABLE_NOT_FOUND (404), CHANGES_TOO_MANY (503) */
  remove(name: string): Promise<void>
  /** Waits for the changes under way. The storage is closed by whoever opened it. */
  close(): Promise<void>
}
