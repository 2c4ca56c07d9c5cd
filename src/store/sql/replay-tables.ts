/** The tables of a replay: the rows that are chosen, those that did not fit, and one that rows are tried in. */
export interface ReplayTables {
  readonly chosen: string
  readonly misfits: string
  readonly trial: string
}

/** @param table that of the data source. */
export function replayTables(table: string): ReplayTables {
  return { chosen: `${table}_replay`, misfits: `${table}_replay_misfits`, trial: `${table}_replay_trial` }
}
