// A pipe as the text of a `.pipe` file, from which the same pipe can be made again.

import type { Pipe, PipeNode } from './pipe.types.ts'

const indent = '    '

/** Ends with a line feed. */
export function formatPipe({ description, nodes, endpointId }: Pipe): string {
  const blocks = [
    ...(description.trim() === '' ? [] : [block('DESCRIPTION', description)]),
    ...nodes.map((node) => nodeBlock(node, node.id === endpointId)),
  ]
  return `${blocks.join('\n\n')}\n`
}

/** The type stands behind the query: a keyword in front of a node would belong to the pipe. */
function nodeBlock({ name, description, sql }: PipeNode, isEndpoint: boolean): string {
  const head = [`NODE ${name}`, ...(description.trim() === '' ? [] : [block('DESCRIPTION', description)])]
  return [...head, block('SQL', sql), ...(isEndpoint ? ['', 'TYPE endpoint'] : [])].join('\n')
}

/**
 * Every line is indented, so that none of them can be taken for a keyword. The first one by no more than that, and no empty
 * ones stand behind the last: readers take off what all lines are indented by, which may go on inside of a literal.
 */
function block(keyword: string, text: string): string {
  const lines = text
    .trim()
    .split('\n')
    .map((line) => (line === '' ? '' : indent + line))
  return [`${keyword} >`, ...lines].join('\n')
}
