import type { FastifyReply } from 'fastify'
import { warnOfUnknown } from '../json/warnings.ts'
import type { Parameters } from '../request/parameters.ts'

export const populateParameters = [
  ...['populate', 'populate_subset', 'populate_condition', 'unlink_on_populate_error', 'truncate'],
] as const

const known = [
  ...['name', 'description', 'sql', 'type', 'node_type', 'position', 'datasource', 'override_datasource', 'engine'],
  ...populateParameters,
  // Of clients, which say more than is needed here.
  ...[
    'token',
    'from',
    'cli_version',
    'workspace_id',
    'branch_mode',
    'ignore_sql_errors',
    'dry_run',
    'mode',
    'edited_by',
  ],
]

/** Tells of parameters that say nothing of a node and of what it is to fill; a wrong option of an engine is refused. */
export function warnOfTargetParameters(reply: FastifyReply, parameters: Parameters): void {
  const names = [...parameters.names()].filter((name) => !name.startsWith('engine_'))
  warnOfUnknown(reply, 'Parameter', names, known)
}
