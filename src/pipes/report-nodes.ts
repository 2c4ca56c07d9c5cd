import type { PipeReader } from '../catalog/pipe.types.ts'
import type { Logger } from '../observe/logger.ts'
import { readNames } from '../query/branch-reads.ts'
import type { Query } from '../query/query.types.ts'
import { giveWay } from '../shared/time-slices.ts'

export interface ReportDeps {
  readonly catalog: Pick<PipeReader, 'listPipes'>
  readonly query: Pick<Query, 'nodeFault'>
  readonly logger: Logger
}

/**
 * Tells of each stored node that would be refused if it came now. It stays, and whoever reads it gets the same error, so that
 * an endpoint which an older version answered is missed by whoever runs the service before its callers tell.
 */
export async function reportNodes({ catalog, query, logger }: ReportDeps): Promise<void> {
  for (const pipe of catalog.listPipes()) {
    // Who asks first what a resource is read by shall not wait for all of them.
    await readNames([pipe])
    for (const [position, node] of pipe.nodes.entries()) {
      await giveWay()
      const reason = query.nodeFault(pipe, node, position)
      if (reason === null) continue
      logger.warn(
        { pipe: pipe.name, node: node.name, isEndpoint: pipe.endpointId === node.id, reason },
        'A stored node would be refused now, and so is whatever reads it. Change its SQL.',
      )
    }
  }
}
