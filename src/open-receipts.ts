import type { Options } from './config.ts'
import type { Ground } from './open-ground.ts'
import { openReceipts, type Receipts } from './receipts/receipts.ts'

type Rows = Pick<Parameters<typeof openReceipts>[1], 'behind' | 'ingest'>

/** Receipts for rows, with what they need of the modules. @throws DISK_UNAVAILABLE (503) */
export function openReceiptsOf(
  options: Options,
  { settings, catalog, jobs, behind, ingest }: Ground & Rows,
): Promise<Receipts> {
  return openReceipts(options, { settings, catalog, jobs, behind, ingest, clock: () => performance.now() })
}
