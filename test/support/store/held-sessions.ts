import { setImmediate } from 'node:timers/promises'
import type { EngineSession } from '../../../src/store/embedded/engine-session.types.ts'
import { SessionPool } from '../../../src/store/embedded/session-pool.ts'

interface HeldStatement {
  readonly sql: string
  readonly end: (text?: string) => void
  readonly fail: (error: Error) => void
}

/** A pool of sessions whose statements end when the test says so. */
export class HeldSessions {
  readonly pool: SessionPool<EngineSession>
  /** In the order in which they began, those that have ended too. */
  readonly statements: HeldStatement[] = []

  constructor(count = 1) {
    const run = (sql: string): Promise<string> =>
      new Promise((resolve, reject) => {
        this.statements.push({ sql, end: (text = '') => resolve(text), fail: reject })
      })
    const runForBytes = async (sql: string): Promise<Uint8Array> => Buffer.from(await run(sql))
    const sessions = Array.from({ length: count }, (): EngineSession => ({ run, runForBytes }))
    this.pool = new SessionPool({ purpose: 'test', sessions, waitingMax: 8 })
  }

  get texts(): readonly string[] {
    return this.statements.map(({ sql }) => sql)
  }

  /** The statement of this index, once it runs. */
  async statement(index: number): Promise<HeldStatement> {
    for (;;) {
      const found = this.statements[index]
      if (found !== undefined) return found
      await setImmediate()
    }
  }
}
