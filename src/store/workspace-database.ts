// Names that the engine, its access control and the SQL of readers agree on. One workspace has one database, numbered by
// its slot, so that a role can be bound to it by name; there is one workspace so far.

/** The database of the tables. Readers name every table with it. */
export const workspaceDatabase = 'ws_0001'

/**
 * The current database of readers, always empty: the engine's own `default` database shows the file system, and
 * `currentDatabase()` shows this name to whoever asks.
 */
export const readerDatabase = 'workspace'
