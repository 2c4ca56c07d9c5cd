/** The beginning of a body. */
export interface SampleBytes {
  /** UTF-8, perhaps behind a byte order mark. */
  readonly bytes: Uint8Array
  /** False when the body goes on behind them, so that the last record may be cut. */
  readonly isWhole: boolean
}
