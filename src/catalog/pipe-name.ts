import { errors } from '../shared/errors/errors.ts'
import { checkDataSourceName, checkReadableName } from './data-source-name.ts'

/**
 * Refuses a name that no pipe can have. Queries read pipes as they read data sources, so what does for one does for the
 * other.
 *
 * @throws NAME_INVALID (400)
 */
export function checkPipeName(name: string): void {
  checkDataSourceName(name)
  if (name === 'openapi') {
    throw errors.NAME_INVALID({ name, reason: 'openapi.json is the description of all endpoints' })
  }
}

/**
 * Refuses a name that no node can have: nodes are read like data sources. A node may be called as a quarantine is: it reads
 * that by the name, and those behind it the node.
 *
 * @throws NAME_INVALID (400)
 */
export function checkNodeName(name: string): void {
  checkReadableName(name)
}
