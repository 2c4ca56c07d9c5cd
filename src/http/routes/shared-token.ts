import type { Permissions } from '../../access/permissions.ts'
import type { Pipe } from '../../catalog/pipe.types.ts'
import type { HttpDeps } from '../http.types.ts'

/**
 * The value of the token to share an endpoint with: the only one that names it for reading, where that may do no more than whoever
 * asks. Null where there are none or several.
 */
export async function sharedToken(
  { id }: Pick<Pipe, 'id'>,
  { tokens, access }: Pick<HttpDeps, 'tokens' | 'access'>,
  permissions: Permissions,
): Promise<string | null> {
  const readers = tokens
    .list()
    .filter(({ scopes }) =>
      scopes.some(
        ({ type, resource }) => type === 'PIPES:READ' && resource !== null && 'id' in resource && resource.id === id,
      ),
    )
  const [reader] = readers
  if (reader === undefined || readers.length > 1 || !access.mayManage(permissions, reader)) return null
  const [value = null] = await tokens.valuesOf([reader])
  return value
}
