import { existsSync, mkdirSync } from 'node:fs'

/** Makes a directory of the running process when somebody removed it: what was in it is lost, and nothing else. */
export function makeAgain(directory: string): void {
  if (!existsSync(directory)) mkdirSync(directory, { recursive: true, mode: 0o700 })
}
