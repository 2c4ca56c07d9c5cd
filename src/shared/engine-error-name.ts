/** What the engine calls an error, as its message ends: `UNKNOWN_TABLE`; empty where it ends otherwise. */
export function engineErrorName(message: string): string {
  return /\(([A-Z][A-Z0-9_]*)\)$/.exec(message)?.[1] ?? ''
}
