import type { PipeNode } from '../catalog/pipe.types.ts'
import { compileTemplate } from '../template/compile-template.ts'
import type { TemplateParameter } from '../template/template.types.ts'
import { TemplateError } from '../template/template-error.ts'

/** Parameters of nodes, for as long as the catalog keeps a node: another SQL makes another node of it. */
const known = new WeakMap<PipeNode, readonly TemplateParameter[]>()

/** What the node's template says of its parameters; a text that is no template has none. */
export function parametersOf(node: PipeNode): readonly TemplateParameter[] {
  const kept = known.get(node)
  if (kept !== undefined) return kept
  const parameters = readParameters(node.sql)
  known.set(node, parameters)
  return parameters
}

function readParameters(sql: string): readonly TemplateParameter[] {
  try {
    return compileTemplate(sql).parameters
  } catch (error) {
    // An earlier release may have taken it. Whoever queries the node is told; a list of pipes must not fail for it.
    if (error instanceof TemplateError) return []
    throw error
  }
}
