/** A part: an Arrow IPC stream in memory, or in a file of the store's directory of parts. */
export type Part = PartFile | Uint8Array

export interface PartFile {
  readonly path: string
  readonly byteCount: number
}
