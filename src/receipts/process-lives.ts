/**
 * The processes that this data directory has had: receipts name the one that gave them, and outlive it.
 *
 * A receipt of a process that is not known here is of another service, or was given behind the backup that this directory was made of: then
 * its place in the log means something else.
 */
import { randomBytes } from 'node:crypto'
import type { Settings } from '../storage/settings.ts'

interface Life {
  readonly processId: string
  /** The place of the newest event in the log when it began. */
  readonly from: number
}

const settingName = 'receipts'
/** Receipts of processes that ended so many starts ago are good no more. */
const livesMax = 1_000
const secretBytes = 32
const processIdBytes = 6

export class ProcessLives {
  /** Of the whole directory. Who can read it can read the tables too, so it is not sealed. */
  readonly secret: Uint8Array
  readonly #lives: readonly Life[]

  private constructor(secret: Uint8Array, lives: readonly Life[]) {
    this.secret = secret
    this.#lives = lives
  }

  /** Notes that a process begins, with the newest place of its log. @throws DISK_UNAVAILABLE (503) */
  static async begin(settings: Pick<Settings, 'read' | 'write'>, from: number): Promise<ProcessLives> {
    // Nobody else writes it.
    const noted = JSON.parse(settings.read(settingName) ?? '{}') as { secret?: string; lives?: [string, number][] }
    const secret = noted.secret === undefined ? randomBytes(secretBytes) : Buffer.from(noted.secret, 'base64url')
    const known = (noted.lives ?? []).map(([processId, start]) => ({ processId, from: start }))
    // A log that began anew gives the places of an earlier one again.
    const kept = (known.at(-1)?.from ?? 0) > from ? [] : known.slice(1 - livesMax)
    const lives = [...kept, { processId: randomBytes(processIdBytes).toString('base64url'), from }]
    const text = lives.map((life) => [life.processId, life.from])
    await settings.write(
      settingName,
      JSON.stringify({ secret: Buffer.from(secret).toString('base64url'), lives: text }),
    )
    return new ProcessLives(secret, lives)
  }

  /** The process that runs. */
  get processId(): string {
    return this.#lives.at(-1)?.processId ?? ''
  }

  /**
   * The newest place that a process can have given: that of the log as the next one found it, and any for the one that runs. Null when
   * there is no such process.
   */
  lastPlaceOf(processId: string): number | null {
    const index = this.#lives.findIndex((life) => life.processId === processId)
    if (index < 0) return null
    return this.#lives[index + 1]?.from ?? Number.MAX_SAFE_INTEGER
  }
}
