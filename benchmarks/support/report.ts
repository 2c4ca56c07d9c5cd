import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { repositoryRoot } from '../../test/support/repository-root.ts'

/** The table of a program, as RESULTS.md has it. */
export interface ResultTable {
  readonly header: readonly string[]
  readonly rows: readonly (readonly string[])[]
  /** Sentences below the table. */
  readonly notes?: string
}

/** Prints day, commit, machine and Node, and the table; writes the result as JSON where `out` names a file. */
export function report({ header, rows, notes = '' }: ResultTable, out: string, result: unknown): void {
  console.log(`\n${environment()}\n\n${textTable(header, rows)}\n${notes === '' ? '' : `\n${notes}\n`}`)
  if (out !== '') writeFileSync(out, `${JSON.stringify({ environment: environment(), result }, null, 2)}\n`)
}

/** Day, commit (with `+changes` when the working copy differs from it), machine and Node. */
export function environment(): string {
  const cores = cpus()
  const machine = `${cores.length} × ${cores[0]?.model.trim() ?? 'unknown'}, ${Math.round(totalmem() / 1e9)} GB`
  return `${new Date().toISOString().slice(0, 10)}, commit ${commit()}, ${machine}, Node ${process.version.slice(1)}`
}

function commit(): string {
  const git = (...words: string[]) =>
    execFileSync('git', words, { cwd: repositoryRoot, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  try {
    const changes = git('status', '--porcelain', '--untracked-files=no')
    return `${git('rev-parse', '--short', 'HEAD')}${changes === '' ? '' : '+changes'}`
  } catch {
    // Not a clone, or nothing committed yet: the figures are still worth reading.
    return 'none'
  }
}

/** A Markdown table whose columns are padded to one width, so that it reads in a terminal as well; numbers go to the right. */
export function textTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = header.map((title, index) => Math.max(3, title.length, ...rows.map((row) => row[index]?.length ?? 0)))
  const isNumber = header.map((_, index) => rows.every((row) => /^[-\d.,× –]*$/.test(row[index] ?? '')))
  const line = (cells: readonly string[]) => {
    const padded = widths.map((width, index) => {
      const cell = cells[index] ?? ''
      return isNumber[index] ? cell.padStart(width) : cell.padEnd(width)
    })
    return `| ${padded.join(' | ')} |`
  }
  const rule = widths.map((width, index) => (isNumber[index] ? `${'-'.repeat(width - 1)}:` : '-'.repeat(width)))
  return [line(header), line(rule), ...rows.map(line)].join('\n')
}
