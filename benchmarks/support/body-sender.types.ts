import type { BodyPlan } from './workload-bytes.ts'

/** What the measuring process asks of the sending process, one at a time. */
export type SenderTask =
  /** Makes the rows and writes them to a file, once. */
  | { readonly kind: 'write'; readonly plan: BodyPlan; readonly path: string }
  /** Sends a file, read into memory beforehand, as one request. */
  | { readonly kind: 'sendFile'; readonly path: string; readonly request: SenderRequest }
  /** Streams rows until `byteCount` bytes are reached: a pool of `plan.rowCount` rows is made once and sent again and again. */
  | {
      readonly kind: 'sendRepeated'
      readonly plan: BodyPlan
      readonly byteCount: number
      readonly request: SenderRequest
    }

export interface SenderRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

export type SenderReport =
  | { readonly kind: 'written'; readonly byteCount: number }
  | { readonly kind: 'answered'; readonly answer: SenderAnswer }
  | { readonly kind: 'failed'; readonly message: string }

export interface SenderAnswer {
  readonly status: number
  /** The first 64 KiB of the body. */
  readonly text: string
  /** From before the connection to the last byte of the answer. */
  readonly elapsedMs: number
  readonly byteCount: number
  /** Rows in the body, the header of a CSV not counted; known for repeated rows only. */
  readonly rowCount: number | null
}
