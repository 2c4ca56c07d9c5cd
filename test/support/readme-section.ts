import { readFileSync, writeFileSync } from 'node:fs'

// Compiled, this file is dist/test/support/readme-section.js.
const readmeUrl = new URL('../../../README.md', import.meta.url)

/**
 * The README's text between `<!-- name:start -->` and `<!-- name:end -->`, without the line breaks around it.
 *
 * With `UPDATE_README=1` in the environment the README takes `made` instead of what it had.
 */
export function readmeSection(name: string, made: string): string {
  const readme = readFileSync(readmeUrl, 'utf8')
  const startMark = `<!-- ${name}:start -->\n`
  const endMark = `\n<!-- ${name}:end -->`
  const start = readme.indexOf(startMark)
  const end = readme.indexOf(endMark)
  if (start < 0 || end < start) throw new Error(`README.md has no section ${name}`)
  if (process.env['UPDATE_README'] === '1') {
    writeFileSync(readmeUrl, readme.slice(0, start + startMark.length) + made + readme.slice(end))
    return made
  }
  return readme.slice(start + startMark.length, end)
}
