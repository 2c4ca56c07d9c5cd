import { errors } from '../../shared/errors/errors.ts'
import type { Parameters } from './parameters.ts'

const name = 'dry_run'
const nearNames = /^dry[-_ ]?(?:run)?$/i

/**
 * Whether a request is to tell alone what it would do.
 *
 * @throws REQUEST_INVALID (400) where a name is near to that of the parameter: what was to be looked at would be done.
 */
export function isDryRun(parameters: Parameters): boolean {
  for (const given of parameters.names()) {
    if (given === name || !nearNames.test(given)) continue
    throw errors.REQUEST_INVALID({
      reason: `there is no parameter "${given}" here; "${name}" tells alone what would be done`,
    })
  }
  return parameters.flag(name)
}
