import type { MaterializedNode } from '../../catalog/pipe.types.ts'
import type { Backlog } from './backlog.ts'
import type { BehindDeps, ViewsBehindState } from './behind.types.ts'
import { isKept } from './view-reach.ts'

interface StateDeps extends Pick<BehindDeps, 'imports' | 'kept'> {
  readonly backlog: Pick<Backlog, 'countsOf'>
}

/** The views that lack blocks, in numbers. */
export function behindState(all: readonly MaterializedNode[], { backlog, imports, kept }: StateDeps): ViewsBehindState {
  const behind = new Map<string, ViewsBehindState['behind'][number]>()
  for (const { pipe, node, view } of all) {
    const { blockCount, byteCount } = isKept(view) ? backlog.countsOf(view.id) : { blockCount: 0, byteCount: 0 }
    const others = behind.get(node.id)
    behind.set(node.id, {
      pipe: pipe.name,
      node: node.name,
      isIncomplete: !isKept(view) || others?.isIncomplete === true,
      blockCount: blockCount + (others?.blockCount ?? 0),
      byteCount: byteCount + (others?.byteCount ?? 0),
    })
  }
  const backlogs = [
    { of: 'events', ...kept().size },
    { of: 'imports', ...imports.size },
  ] as const
  return { behind: [...behind.values()], backlogs }
}
