// The sessions of the engine in the engine's own process: opened, and set to what their role may do.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { quoteString } from '../../shared/text-escapes.ts'
import { controlSettings, settingsText } from '../sql/statement-settings.ts'
import { readerDatabase, workspaceDatabase } from '../workspace-database.ts'
import { ChdbSession } from './chdb-session.ts'
import { readerProfile, readerRole } from './engine-config.ts'
import type { OpenOrder, ReaderLimits, SessionRole } from './engine-session.types.ts'
import { readerSettings } from './select-statement.ts'

/**
 * Opens a session. Synchronous; the first one opens the engine, a few hundred milliseconds.
 *
 * Precondition: the time zone of the process is UTC. The engine takes its own from the environment alone, and in any other
 * one merges would judge TTLs and partitions of zoneless times otherwise than queries do.
 */
export function openChdbSession(role: SessionRole, { directory, configPath, limits }: OpenOrder): ChdbSession {
  const session = new ChdbSession(directory, configPath)
  try {
    prepare(session, role, limits)
    return session
  } catch (thrown) {
    session.close()
    throw thrown
  }
}

function prepare(session: ChdbSession, role: SessionRole, limits: ReaderLimits): void {
  switch (role) {
    case 'stopper':
      return
    case 'reader':
      prepareReader(session, limits)
      return
    case 'definer':
      prepareControl(session)
      session.runNow(`SET ${settingsText({ max_memory_usage: limits.queryMemoryBytesMax })}`)
      return
    case 'control':
    case 'writer':
    case 'copier':
      prepareControl(session)
  }
}

/** Asked after the engine has refused a directory, as it says why on stderr alone. */
export function isLockedByAnother(directory: string): boolean {
  try {
    const status = readFileSync(join(directory, 'status'), 'utf8')
    const pid = Number(/^PID: (\d+)$/m.exec(status)?.[1])
    // Signal 0 is never sent; it fails with ESRCH when there is no such process.
    return pid !== process.pid && process.kill(pid, 0)
  } catch (err) {
    return err instanceof Error && 'code' in err && err.code === 'EPERM'
  }
}

function prepareControl(session: ChdbSession): void {
  session.runNow(`SET ${settingsText(controlSettings)}`)
  session.runNow(`CREATE DATABASE IF NOT EXISTS ${workspaceDatabase} ENGINE = Atomic`)
  session.runNow(`CREATE DATABASE IF NOT EXISTS ${readerDatabase} ENGINE = Atomic`)
  session.runNow(`USE ${readerDatabase}`)
}

function prepareReader(session: ChdbSession, limits: ReaderLimits): void {
  session.runNow(`USE ${readerDatabase}`)
  session.runNow(`SET ROLE ${readerRole}`)
  session.runNow(`SET ${settingsText(readerSettings(limits))}`)
  // The profile brings its constraints, not its values; after it and `readonly`, nothing of these can be changed back.
  session.runNow(`SET profile = ${quoteString(readerProfile)}`)
  session.runNow('SET readonly = 2')
}
