// The text of EXPLAIN QUERY TREE as a tree. Each line says what it is, and its indentation by two blanks where it belongs.

/** A line with what stands below it. */
export interface TreeNode {
  readonly text: string
  /** Among the children of its parent, counted from 1. */
  readonly position: number
  readonly children: TreeNode[]
}

/** A node without a text, whose children are the lines that are not indented. */
export function readTree(text: string): TreeNode {
  const root: TreeNode = { text: '', position: 0, children: [] }
  const path: TreeNode[] = [root]
  for (const line of text.split('\n')) {
    const content = line.trimStart()
    if (content === '') continue
    path.length = Math.min(path.length, 1 + Math.floor((line.length - content.length) / 2))
    const parent = path.at(-1) ?? root
    const node = { text: content, position: parent.children.length + 1, children: [] }
    parent.children.push(node)
    path.push(node)
  }
  return root
}

/**
 * The nodes below this one that the engine has made itself as copies of others: what stands left of BETWEEN is there twice,
 * and what the WITH of a UNION's first SELECT says is there for each of the others. Whoever writes the same twice gets the
 * same tree.
 */
export function copiesBelow(node: TreeNode): readonly TreeNode[] {
  if (/^FUNCTION .*function_name: (?:and|or), function_type: /.test(node.text)) return betweenCopy(node)
  return node.text.startsWith('UNION ') ? withCopies(node) : []
}

const comparisons: ReadonlySet<string> = new Set(['greaterOrEquals lessOrEquals', 'less greater'])

function betweenCopy(node: TreeNode): readonly TreeNode[] {
  const [first, second, third] = argumentsOf(node)
  if (first === undefined || second === undefined || third !== undefined) return []
  if (!comparisons.has(`${functionOf(first)} ${functionOf(second)}`)) return []
  const [original] = argumentsOf(first)
  const [copy] = argumentsOf(second)
  return original !== undefined && copy !== undefined && textOf(original) === textOf(copy) ? [copy] : []
}

function withCopies(union: TreeNode): readonly TreeNode[] {
  const [first, ...others] = listOf(union, 'QUERIES')
  if (first === undefined) return []
  const originals = new Set(listOf(first, 'WITH').map(textOf))
  return others.flatMap((other) => withEntries(other)).filter((entry) => originals.has(textOf(entry)))
}

/** Of a SELECT, or of all of those in a UNION. */
function withEntries(node: TreeNode): readonly TreeNode[] {
  const queries = node.text.startsWith('UNION ') ? listOf(node, 'QUERIES') : []
  return [...listOf(node, 'WITH'), ...queries.flatMap(withEntries)]
}

function functionOf({ text }: TreeNode): string {
  return /^FUNCTION .*function_name: (.*), function_type: /.exec(text)?.[1] ?? ''
}

function argumentsOf(node: TreeNode): readonly TreeNode[] {
  return listOf(node, 'ARGUMENTS')
}

/** What the list of this section has. */
function listOf(node: TreeNode, section: string): readonly TreeNode[] {
  return node.children.find(({ text }) => text === section)?.children[0]?.children ?? []
}

/** All of it but for the numbers that the engine gives to nodes. */
function textOf({ text, children }: TreeNode): string {
  return `${text.replace(/^((?:\w+ COLUMN TRANSFORMER)|\w+) id: \d+/, '$1')}\n(${children.map(textOf).join('')})`
}
