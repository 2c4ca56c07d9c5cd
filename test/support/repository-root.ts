import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Absolute path of the folder that holds package.json, from compiled code in `dist` as well as from source. */
export const repositoryRoot = folderAbove(dirname(fileURLToPath(import.meta.url)))

function folderAbove(folder: string): string {
  if (existsSync(join(folder, 'package.json'))) return folder
  const parent = dirname(folder)
  if (parent === folder) throw new Error('no package.json above the tests')
  return folderAbove(parent)
}
