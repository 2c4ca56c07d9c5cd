import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The paths, relative to a directory, of its files that hold the bytes of a text, in any folder. */
export function filesWith(directory: string, text: string): readonly string[] {
  const needle = Buffer.from(text)
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true })
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  return paths.filter((path) => readFileSync(path).includes(needle)).map((path) => path.slice(directory.length + 1))
}
