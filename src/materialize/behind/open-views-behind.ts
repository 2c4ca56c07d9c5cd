import type { SupervisedStore } from '../../store/store.types.ts'
import type { BehindDeps } from './behind.types.ts'
import { dropTwins } from './catch-up.ts'
import { type BehindOptions, ViewsBehind } from './views-behind.ts'

/** Opens it over what the catalog says; what a kill left is dropped. Precondition: nobody inserts. Raises `StoreError`. */
export async function openViewsBehind(
  options: BehindOptions,
  deps: Omit<BehindDeps, 'steadyMs'> & { readonly store: Pick<SupervisedStore, 'keepBy'> },
): Promise<ViewsBehind> {
  const behind = new ViewsBehind(options, { ...deps, steadyMs: () => performance.now() })
  deps.store.keepBy(behind.importKeeper)
  await dropTwins(deps.store.tables)
  return behind
}
