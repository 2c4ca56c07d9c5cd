// A pipe as the text of a `.pipe` file, from which the same pipe can be made again.

import { queryBlock, textBlock } from '../schema/definitions/datafile-block.ts'
import type { Pipe, PipeNode } from './pipe.types.ts'

/** Ends with a line feed. */
export function formatPipe({ description, nodes, endpointId }: Pipe): string {
  const blocks = [
    ...(description.trim() === '' ? [] : [textBlock('DESCRIPTION', description)]),
    ...nodes.map((node) => nodeBlock(node, node.id === endpointId)),
  ]
  return `${blocks.join('\n\n')}\n`
}

/** The type stands behind the query: a keyword in front of a node would belong to the pipe. */
function nodeBlock({ name, description, sql }: PipeNode, isEndpoint: boolean): string {
  const head = [`NODE ${name}`, ...(description.trim() === '' ? [] : [textBlock('DESCRIPTION', description)])]
  return [...head, queryBlock('SQL', sql), ...(isEndpoint ? ['', 'TYPE endpoint'] : [])].join('\n')
}
