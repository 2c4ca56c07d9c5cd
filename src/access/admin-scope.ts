import { createReadScope } from './read-scope.ts'

/**
 * Everything. For the admin token, and for what the service reads for itself: `service.ts` hands it to those modules by name,
 * and no other module may import this file (`.dependency-cruiser.cjs`).
 */
export const adminScope = createReadScope({
  signature: '',
  mayRead: () => true,
  seesAll: true,
  filterOf: () => null,
  outputFilterOf: () => null,
  isFiltered: false,
  fixedParametersOf: () => null,
  mayUseSecrets: true,
})
