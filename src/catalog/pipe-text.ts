// A pipe as the text of a `.pipe` file, from which the same pipe can be made again.

import { queryBlock, textBlock } from '../schema/definitions/datafile-block.ts'
import type { Pipe, PipeNode } from './pipe.types.ts'

/** Gives the name of a data source; undefined for one that is gone, or that the reader may not know of. */
type TargetName = (id: string) => string | undefined

/** Ends with a line feed. */
export function formatPipe({ description, nodes, endpointId }: Pipe, targetName: TargetName = () => undefined): string {
  const blocks = [
    ...(description.trim() === '' ? [] : [textBlock('DESCRIPTION', description)]),
    ...nodes.map((node) => nodeBlock(node, { isEndpoint: node.id === endpointId, targetName })),
  ]
  return `${blocks.join('\n\n')}\n`
}

interface NodeKind {
  readonly isEndpoint: boolean
  readonly targetName: TargetName
}

/** The type stands behind the query: a keyword in front of a node would belong to the pipe. */
function nodeBlock({ name, description, sql, view }: PipeNode, { isEndpoint, targetName }: NodeKind): string {
  const target = view === undefined ? undefined : targetName(view.targetId)
  const type = target === undefined ? [] : ['', 'TYPE materialized', `DATASOURCE ${target}`]
  const head = [`NODE ${name}`, ...(description.trim() === '' ? [] : [textBlock('DESCRIPTION', description)])]
  return [...head, queryBlock('SQL', sql), ...(isEndpoint ? ['', 'TYPE endpoint'] : type)].join('\n')
}
