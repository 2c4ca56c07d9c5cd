// The fenced blocks of a Markdown page, and the shell script that does what the page tells its reader to do.
//
// What follows the language of a block says what it is:
//   sh              commands; each request must be answered with 2xx
//   sh status=404   the last request must be answered so
//   sql             a query, sent to /v0/sql; `sql org=a` sends it with this parameter
//   json answer     what the block before it prints, as JSON; `text answer` as text. `…` stands for anything
//   text            a drawing or a file that is shown; nothing is run
// Any other block must be in the list of those that cannot be run.

export interface PageBlock {
  readonly language: string
  /** What stands behind the language. */
  readonly mode: string
  readonly text: string
  /** Of its first line, from 1. */
  readonly line: number
}

/** Blocks in their order. A fence that is never closed is an error. */
export function blocksOf(page: string): readonly PageBlock[] {
  const blocks: PageBlock[] = []
  const lines = page.split('\n')
  for (let at = 0; at < lines.length; at += 1) {
    const fence = /^```(\S*) ?(.*)$/.exec(lines[at] ?? '')
    if (fence === null) continue
    const end = lines.indexOf('```', at + 1)
    if (end < 0) throw new Error(`The block of line ${at + 1} is never closed`)
    const [, language = '', mode = ''] = fence
    blocks.push({ language, mode, text: lines.slice(at + 1, end).join('\n'), line: at + 2 })
    at = end
  }
  return blocks
}

/** Stands in front of what a block writes to stdout and stderr, with its line. */
const blockMark = '@@ block of line'
/** Stands in front of the status of each answer, on stderr. */
export const statusMark = '@@ status'

/** Commands of bash: those of the blocks that run, one behind the other, in one shell. */
export function scriptOf(blocks: readonly PageBlock[]): string {
  const parts = blocks.map(({ language, mode, text, line }) => {
    const mark = `printf '\\n${blockMark} %s\\n' ${line}`
    return `${mark}\n${mark} >&2\n${language === 'sql' ? queryCommand(text, mode) : text}`
  })
  return ['set -e -o pipefail', ...parts, ''].join('\n')
}

function queryCommand(query: string, parameters: string): string {
  return `curl -H "$AUTH" "$API/v0/sql?${parameters.replaceAll(' ', '&')}" --data-binary @- <<'END_OF_QUERY'\n${query}\nEND_OF_QUERY`
}

/** What each block wrote, by its line. */
export function writtenByBlock(text: string): ReadonlyMap<number, string> {
  const written = new Map<number, string>()
  for (const part of text.split(`\n${blockMark} `).slice(1)) {
    const end = part.indexOf('\n')
    written.set(Number(part.slice(0, end)), part.slice(end + 1))
  }
  return written
}

/** Whether an answer is what a page shows; `…` stands for any text, as a value for anything, as a key for all other keys, at the end of a list for all that follow. */
export function isShown(shown: unknown, answer: unknown): boolean {
  if (typeof shown === 'string' && shown.includes('…')) {
    return shown === '…' || (typeof answer === 'string' && patternOf(shown).test(answer))
  }
  if (typeof shown !== 'object' || shown === null) return shown === answer
  if (typeof answer !== 'object' || answer === null || Array.isArray(shown) !== Array.isArray(answer)) return false
  const [left, right] = [new Map(Object.entries(shown)), new Map(Object.entries(answer))]
  const isBeginning = Array.isArray(shown) && shown.at(-1) === '…'
  const isPart = left.delete(isBeginning ? String(shown.length - 1) : '…')
  return (
    (isPart || left.size === right.size) &&
    [...left].every(([key, value]) => right.has(key) && isShown(value, right.get(key)))
  )
}

/** A text in which `…` stands for any other. */
export function patternOf(shown: string): RegExp {
  const parts = shown.split('…').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${parts.join('.*')}$`, 's')
}
