import { errors } from '../shared/errors/errors.ts'
import { findDataSourceId } from './data-source-id.ts'
import { quarantineSuffix } from './quarantine-name.ts'

const nameLengthMax = 256
/**
 * Refuses a name that no data source can have. Capitals count: `Orders` and `orders` are two names.
 *
 * @throws NAME_INVALID (400)
 */
export function checkDataSourceName(name: string): void {
  checkReadableName(name)
  if (!name.endsWith(quarantineSuffix)) return
  throw errors.NAME_INVALID({ name, reason: `names that end with ${quarantineSuffix} are those of quarantine tables` })
}

/** Refuses a name by which no query could read anything. @throws NAME_INVALID (400) */
export function checkReadableName(name: string): void {
  const reason = nameFault(name)
  if (reason !== null) throw errors.NAME_INVALID({ name, reason })
}

function nameFault(name: string): string | null {
  if (name.length > nameLengthMax) return `it is longer than ${nameLengthMax} characters`
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
    return 'it must begin with a letter and hold only letters, digits and underscores'
  }
  if (name === '_') return 'it stands for a pipe in queries'
  if (findDataSourceId(name) !== undefined) return 'it looks like an id'
  return null
}
