import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Options } from './config.ts'
import type { DataSources } from './datasources/datasources.types.ts'
import type { Imports } from './imports/imports.types.ts'
import type { RemoteFiles } from './imports/url/remote-file.types.ts'
import { openRemoteFiles } from './imports/url/remote-files.ts'
import { openUrlImports } from './imports/url-jobs/open-url-imports.ts'
import type { TableChanges } from './imports/url-jobs/table-changes.ts'
import type { UrlImports } from './imports/url-jobs/url-import.types.ts'
import type { Ingest } from './ingest/ingest.types.ts'
import { openKeptParts } from './ingest/insert/kept-parts.ts'
import { createOrderSeal } from './job-order-seal.ts'
import type { Jobs } from './jobs/jobs.types.ts'
import type { Logger } from './observe/logger.ts'
import type { SecretBox } from './secrets/secret-box.types.ts'
import type { Store } from './store/store.types.ts'

export interface ImportsByUrlDeps {
  readonly imports: Imports
  readonly dataSources: Pick<DataSources, 'find'>
  readonly ingest: Pick<Ingest, 'settleImport' | 'sync' | 'tableMark'>
  readonly store: Pick<Store, 'newPartPath'>
  readonly jobs: Jobs
  readonly changes: TableChanges
  readonly box: SecretBox
  readonly logger: Logger
}

const keptPartsName = 'import-parts'

/** Imports by URL, and the files that they read, with what the options say of them. @throws StartRefusal */
export async function openImportsByUrl(
  options: Options,
  deps: ImportsByUrlDeps,
): Promise<{ readonly urlImports: UrlImports; readonly remoteFiles: RemoteFiles }> {
  const { imports, dataSources, ingest, jobs, changes, box, logger, store } = deps
  const remoteFiles = openRemoteFiles(
    {
      allow: options.urlAllow,
      allowHttp: options.urlAllowHttp,
      allowCredentials: options.urlCredentials,
      ports: options.urlPorts,
      connectTimeoutMs: options.urlConnectTimeoutMs,
      headersTimeoutMs: options.urlHeadersTimeoutMs,
      idleTimeoutMs: options.urlIdleTimeoutMs,
      bytesMax: options.urlBytesMax,
      headerBytesMax: options.urlHeaderBytesMax,
      redirectsMax: options.urlRedirectsMax,
      attemptsMax: options.urlAttemptsMax,
      retryDelayMaxMs: options.urlRetryDelayMaxMs,
      connectionsMax: options.urlConnectionsMax,
      pieceBytes: options.urlPieceBytes,
    },
    { logger },
  )
  const unended = jobs.list({ kinds: ['import'], statuses: ['waiting', 'working', 'cancelling'] })
  const newPartPath = (): string => store.newPartPath()
  const kept = await openKeptParts(join(options.dataDir, keptPartsName), new Set(unended.map(({ id }) => id)), {
    ...{ newPartPath, logger },
  })
  const urlImports = openUrlImports(options, {
    ...{ imports, dataSources, ingest, jobs, changes, logger, remoteFiles, kept },
    box: createOrderSeal(box),
    clock: () => performance.now(),
    now: Date.now,
    delay: (timeMs, signal) => delay(timeMs, undefined, { signal }),
  })
  return { urlImports, remoteFiles }
}
