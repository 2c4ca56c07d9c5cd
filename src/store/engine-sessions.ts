import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { assert } from '../shared/assert.ts'
import { quoteString } from '../shared/text-escapes.ts'
import { type EngineOptions, readerProfile, readerRole } from './engine-config.ts'
import { EngineSession } from './engine-session.ts'
import { readerSettings } from './select-statement.ts'
import { controlSettings, settingsText } from './statement-settings.ts'
import { readerDatabase, workspaceDatabase } from './workspace-database.ts'

export interface SessionOptions extends EngineOptions {
  /** INSERTs that may run at once. */
  readonly insertsInFlightMax: number
  /** Readers' queries that may run at once. */
  readonly selectsInFlightMax: number
  /** Statements of our own that may run at once. */
  readonly statementsInFlightMax: number
}

export interface Sessions {
  readonly writers: readonly EngineSession[]
  readonly readers: readonly EngineSession[]
  /** For statements of our own that take long, such as copies of tables. */
  readonly copiers: readonly EngineSession[]
  readonly control: readonly EngineSession[]
  /** Stops statements of the others, and must never wait behind them. */
  readonly stopper: EngineSession
}

/** Each takes a thread and the memory of a query; more at once would not end sooner. */
const copiesInFlightMax = 1

/**
 * Opens the engine on `directory` and all sessions of the store, the readers' restricted.
 *
 * Synchronous, a few hundred milliseconds: nothing else runs yet.
 *
 * @throws Error when another process has the directory open.
 */
export function openSessions(directory: string, configPath: string, options: SessionOptions): Sessions {
  // The engine takes its time zone from the environment alone, when it first needs it, and ignores its config file's. In
  // any other zone than UTC, merges would judge TTLs and partitions of zoneless times otherwise than queries do.
  // biome-ignore lint/style/noProcessEnv: it is written, not read, and for the engine alone.
  process.env['TZ'] = 'UTC'
  const opened: EngineSession[] = []
  const open = (count: number, prepare: (session: EngineSession) => void): readonly EngineSession[] =>
    Array.from({ length: count }, () => {
      const session = openSession(directory, configPath)
      opened.push(session)
      prepare(session)
      return session
    })
  try {
    const control = open(options.statementsInFlightMax, prepareControl)
    const [stopper] = open(1, () => undefined)
    assert(stopper !== undefined, 'one session was asked for')
    const writers = open(options.insertsInFlightMax, prepareControl)
    const readers = open(options.selectsInFlightMax, (session) => prepareReader(session, options))
    const copiers = open(copiesInFlightMax, prepareControl)
    return { control, stopper, writers, readers, copiers }
  } catch (thrown) {
    for (const session of opened) session.close()
    throw thrown
  }
}

function openSession(directory: string, configPath: string): EngineSession {
  try {
    return new EngineSession(directory, configPath)
  } catch (thrown) {
    if (isLockedByAnother(directory)) {
      throw new Error(`the data directory ${dirname(directory)} is in use by another process`, { cause: thrown })
    }
    throw new Error(`the engine can not open ${directory}; its own message stands above`, { cause: thrown })
  }
}

/** Asked after the engine has refused a directory, as it says why on stderr alone. */
function isLockedByAnother(directory: string): boolean {
  try {
    const status = readFileSync(join(directory, 'status'), 'utf8')
    const pid = Number(/^PID: (\d+)$/m.exec(status)?.[1])
    // Signal 0 is never sent; it fails with ESRCH when there is no such process.
    return pid !== process.pid && process.kill(pid, 0)
  } catch (err) {
    return err instanceof Error && 'code' in err && err.code === 'EPERM'
  }
}

function prepareControl(session: EngineSession): void {
  session.runNow(`SET ${settingsText(controlSettings)}`)
  session.runNow(`CREATE DATABASE IF NOT EXISTS ${workspaceDatabase} ENGINE = Atomic`)
  session.runNow(`CREATE DATABASE IF NOT EXISTS ${readerDatabase} ENGINE = Atomic`)
  session.runNow(`USE ${readerDatabase}`)
}

function prepareReader(session: EngineSession, limits: EngineOptions): void {
  session.runNow(`USE ${readerDatabase}`)
  session.runNow(`SET ROLE ${readerRole}`)
  session.runNow(`SET ${settingsText(readerSettings(limits))}`)
  // The profile brings its constraints, not its values; after it and `readonly`, nothing of these can be changed back.
  session.runNow(`SET profile = ${quoteString(readerProfile)}`)
  session.runNow('SET readonly = 2')
}
