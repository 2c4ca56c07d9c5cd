// Blocks of datafiles that hold texts of users. A text that is read out of a file, by whatever reader, and written again must
// give the same file: some readers take off what all lines of a block are indented by, and others leave it.

const indent = '    '

/**
 * A description: every line is indented, so that none of them can be taken for a keyword. What all of its lines are indented
 * by, and empty lines around it, are left out.
 */
export function textBlock(keyword: string, text: string): string {
  return written(keyword, withoutMargin(text))
}

/** The same for a query, of which nothing is taken away that may stand inside of a literal. */
export function queryBlock(keyword: string, sql: string): string {
  return written(keyword, hasLongLiterals(sql) ? sql : withoutMargin(sql))
}

/** No blanks stand in front of the first line and behind the last: readers take off what all lines are indented by. */
function written(keyword: string, text: string): string {
  const lines = text
    .trim()
    .split('\n')
    .map((line) => (line === '' ? '' : indent + line))
  return [`${keyword} >`, ...lines].join('\n')
}

function withoutMargin(text: string): string {
  const lines = text.split('\n')
  const margin = commonMargin(lines.filter((line) => line.trim() !== ''))
  if (margin === '') return text
  return lines.map((line) => (line.startsWith(margin) ? line.slice(margin.length) : line.trimStart())).join('\n')
}

function commonMargin(lines: readonly string[]): string {
  const [first = '', ...others] = lines
  let margin = marginOf(first)
  for (const line of others) while (!line.startsWith(margin)) margin = margin.slice(0, -1)
  return margin
}

function marginOf(line: string): string {
  return /^[ \t]*/.exec(line)?.[0] ?? ''
}

/** Comments of SQL and of templates, which may hold a single quote, and what is between quotes. */
const commentOrQuoted =
  /--[^\n]*|#[ !][^\n]*|\/\*[\s\S]*?\*\/|\{#[\s\S]*?#\}|'(?:[^'\\]|\\[\s\S])*'|"(?:[^"\\]|\\[\s\S])*"|`(?:[^`\\]|\\[\s\S])*`/g

/** Whether a literal or a name may go on over a line end; a heredoc, and a quote that is not closed, may too. */
function hasLongLiterals(sql: string): boolean {
  const rest = sql.replaceAll(commentOrQuoted, (found) => (/^['"`]/.test(found) && found.includes('\n') ? "'" : ''))
  return /['"`]|\$\w*\$/.test(rest)
}
