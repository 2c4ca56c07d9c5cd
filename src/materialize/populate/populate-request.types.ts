export interface PopulateRequest {
  /** A part of the rows, between 0 and a tenth; it goes before a condition. Null is all of them. */
  readonly subset: number | null
  /** On the rows of the source; null is all of them. */
  readonly condition: string | null
  readonly unlinksOnError: boolean
  /** Whether the rows go that the target has. */
  readonly truncates: boolean
}
