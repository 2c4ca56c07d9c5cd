import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Session } from 'chdb'

/** The real engine on a directory of its own, for asking whether it takes a CREATE TABLE. One a process. */
export class EngineSession {
  readonly #directory = mkdtempSync(join(tmpdir(), 'millrace-engine-'))
  readonly #session = new Session(this.#directory)

  constructor() {
    this.#session.query('CREATE DATABASE workspace ENGINE Atomic')
    this.#session.query('USE workspace')
  }

  /** Rows as text, tab separated. */
  query(sql: string): string {
    return this.#session.query(sql, 'TSVRaw').toString().trimEnd()
  }

  /** What the engine says against creating the table, or null when it creates it. The table is dropped again. */
  refusal(columnsClause: string, engineClause = 'ENGINE = Memory'): string | null {
    try {
      this.query(`CREATE TABLE probe (${columnsClause}) ${engineClause}`)
    } catch (error) {
      return error instanceof Error ? error.message : String(error)
    }
    this.query('DROP TABLE probe SYNC')
    return null
  }

  /** The engine's own text of a type. */
  canonicalType(type: string): string {
    this.query(`CREATE TABLE probe (c ${type}) ENGINE = Memory`)
    const text = this.query("SELECT type FROM system.columns WHERE database = 'workspace' AND table = 'probe'")
    this.query('DROP TABLE probe SYNC')
    return text
  }

  close(): void {
    this.#session.cleanup()
    rmSync(this.#directory, { recursive: true, force: true })
  }
}
