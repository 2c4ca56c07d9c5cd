import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { repositoryRoot } from './repository-root.ts'

/**
 * The text of a page between `<!-- name:start -->` and `<!-- name:end -->`, without the line breaks around it.
 *
 * With `UPDATE_DOCS=1` in the environment the page takes `made` instead of what it had.
 * @param page path below the repository, such as `docs/errors.md`
 */
export function pageSection(page: string, name: string, made: string): string {
  const path = join(repositoryRoot, page)
  const text = readFileSync(path, 'utf8')
  const startMark = `<!-- ${name}:start -->\n`
  const endMark = `\n<!-- ${name}:end -->`
  const start = text.indexOf(startMark)
  const end = text.indexOf(endMark)
  if (start < 0 || end < start) throw new Error(`${page} has no section ${name}`)
  if (process.env['UPDATE_DOCS'] === '1') {
    writeFileSync(path, text.slice(0, start + startMark.length) + made + text.slice(end))
    return made
  }
  return text.slice(start + startMark.length, end)
}
