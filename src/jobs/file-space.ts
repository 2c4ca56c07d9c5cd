import { errors } from '../shared/errors/errors.ts'
import { newcomersShareOf } from './newcomers-share.ts'

/** So many times what one has in it fits into all of the room; into what is kept for newcomers a quarter of that. */
const newcomersMin = 64

export interface FileSpaceOptions {
  /** Bytes of all files together. */
  readonly bytesMax: number
  /** Those of the files of one owner. */
  readonly bytesPerOwnerMax: number
  /** What a file counts for at least: so many small ones have an end too. */
  readonly fileBytesMin: number
}

/** The room that files of jobs have, and whose they are; those that are being written among them. */
export class FileSpace {
  readonly #options: FileSpaceOptions
  #byteCount = 0
  readonly #ofOwner = new Map<string | null, number>()

  constructor(options: FileSpaceOptions) {
    this.#options = options
  }

  /** The room of one file, which has none yet. */
  open(ownerId: string | null): FileCharge {
    const take = (bytes: number, isChecked: boolean): void => this.#take(ownerId, bytes, isChecked)
    return new FileCharge(this.#options.fileBytesMin, take)
  }

  /** @throws JOB_FILES_FULL, JOB_FILES_OF_TOKEN_FULL (503) */
  #take(ownerId: string | null, bytes: number, isChecked: boolean): void {
    const { bytesMax, bytesPerOwnerMax, fileBytesMin } = this.#options
    const byteCount = this.#byteCount + bytes
    const own = (this.#ofOwner.get(ownerId) ?? 0) + bytes
    if (isChecked && own > bytesPerOwnerMax) throw errors.JOB_FILES_OF_TOKEN_FULL({ bytesMax: bytesPerOwnerMax })
    if (isChecked && byteCount > bytesMax) throw errors.JOB_FILES_FULL({ bytesMax })
    // Where one may fill all of the room there are no shares.
    const isForNewcomers = bytesPerOwnerMax < bytesMax && byteCount > bytesMax - newcomersShareOf(bytesMax)
    const smallMax = Math.max(fileBytesMin, Math.floor(bytesMax / newcomersMin))
    if (isChecked && isForNewcomers && own > smallMax) throw errors.JOB_FILES_OF_TOKEN_FULL({ bytesMax: own - bytes })
    this.#byteCount = byteCount
    if (own === 0) this.#ofOwner.delete(ownerId)
    else this.#ofOwner.set(ownerId, own)
  }
}

/** What one file takes of the room. */
export class FileCharge {
  readonly #bytesMin: number
  readonly #take: (bytes: number, isChecked: boolean) => void
  #byteCount = 0
  #taken = 0

  constructor(bytesMin: number, take: (bytes: number, isChecked: boolean) => void) {
    this.#bytesMin = bytesMin
    this.#take = take
  }

  /** Bytes of the file. */
  get byteCount(): number {
    return this.#byteCount
  }

  /** For bytes that are to be written. @throws JOB_FILES_FULL, JOB_FILES_OF_TOKEN_FULL (503) */
  grow(bytes: number): void {
    this.#grow(bytes, true)
  }

  /** For bytes that are there already, whatever the options say by now. */
  note(bytes: number): void {
    this.#grow(bytes, false)
  }

  giveBack(): void {
    this.#take(-this.#taken, false)
    this.#taken = 0
  }

  #grow(bytes: number, isChecked: boolean): void {
    const taken = Math.max(this.#byteCount + bytes, this.#bytesMin)
    this.#take(taken - this.#taken, isChecked)
    this.#taken = taken
    this.#byteCount += bytes
  }
}
