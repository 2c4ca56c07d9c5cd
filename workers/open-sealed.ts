/** The thread that opens sealed texts: records in, their texts out. */
import { parentPort } from 'node:worker_threads'
import { openSealed } from '../src/secrets/open-sealed.ts'
import type { OpenedTexts, OpeningTask } from '../src/secrets/opening-thread.ts'

parentPort?.on('message', ({ keys, records }: OpeningTask) => {
  const opened: OpenedTexts = records.map((record) =>
    record === null ? null : openSealed(keys, record.sealed, record.context),
  )
  parentPort?.postMessage(opened)
})
