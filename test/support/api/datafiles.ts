// Datafiles, read by their grammar: a keyword begins its line, and a block is what is indented below it, less what all of its
// lines are indented by.

export interface PipeFile {
  readonly description: string
  readonly nodes: readonly FileNode[]
}

interface FileNode {
  name: string
  description: string
  sql: string
  type: string
}

/** As the body of a request that creates the pipe has it. */
export function readPipeFile(text: string, blockText: BlockText = dedent): PipeFile {
  let description = ''
  const nodes: FileNode[] = []
  for (const [keyword, value] of entriesOf(text, blockText)) {
    const node = nodes.at(-1)
    if (keyword === 'NODE') nodes.push({ name: value, description: '', sql: '', type: 'standard' })
    else if (keyword === 'DESCRIPTION' && node === undefined) description = value
    else if (keyword === 'DESCRIPTION' && node !== undefined) node.description = value
    else if (keyword === 'SQL' && node !== undefined) node.sql = value
    else if (keyword === 'TYPE' && node !== undefined) node.type = value
    else throw new Error(`${keyword} has no place in the file of a pipe`)
  }
  return { description, nodes }
}

/** The parameters of a request that creates the data source. */
export function readDataSourceFile(text: string, blockText: BlockText = dedent): Readonly<Record<string, string>> {
  const parameters = entriesOf(text, blockText).map(([keyword, value]) => {
    const isKnown = /^(?:VERSION|DESCRIPTION|SCHEMA|INDEXES|ENGINE|ENGINE_\w+)$/.test(keyword)
    if (!isKnown) throw new Error(`${keyword} has no place in the file of a data source`)
    // Blocks are texts of users, who put quotes around them or not.
    const isBlock = /^(?:DESCRIPTION|SCHEMA|INDEXES)$/.test(keyword)
    return [keyword.toLowerCase(), isBlock ? value : value.replace(/^"(.*)"$/, '$1')] as const
  })
  return Object.fromEntries(parameters)
}

/** What the lines of a block, as they stand in the file, are taken for. */
type BlockText = (lines: readonly string[]) => string

function entriesOf(text: string, blockText: BlockText): readonly (readonly [keyword: string, value: string])[] {
  const entries: [string, string][] = []
  const lines = text.replace(/\n$/, '').split('\n')
  for (let index = 0; index < lines.length; index += 1) {
    const line = lines[index] ?? ''
    if (line.trim() === '') continue
    const [, keyword = '', rest = ''] = /^([A-Za-z_]+) ?(.*)$/.exec(line) ?? []
    if (keyword === '') throw new Error(`a line without a keyword: ${line}`)
    const block: string[] = []
    while (rest === '>' && index + 1 < lines.length && /^(?:\s|$)/.test(lines[index + 1] ?? '')) {
      index += 1
      block.push(lines[index] ?? '')
    }
    entries.push([keyword, rest === '>' ? blockText(block) : rest])
  }
  return entries
}

function dedent(lines: readonly string[]): string {
  const filled = lines.filter((line) => line.trim() !== '')
  const margin = Math.min(...filled.map((line) => line.length - line.trimStart().length))
  return lines
    .map((line) => line.slice(margin))
    .join('\n')
    .replace(/\s+$/, '')
}
