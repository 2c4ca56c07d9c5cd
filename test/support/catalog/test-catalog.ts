import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { type Catalog, type CatalogOptions, catalogKinds, openCatalog } from '../../../src/catalog/catalog.ts'
import type { DataSource } from '../../../src/catalog/data-source.types.ts'
import { createDataSourceId } from '../../../src/catalog/data-source-id.ts'
import { parseSchema } from '../../../src/schema/columns/schema-parser.ts'
import { openLmdbStorage } from '../../../src/storage/lmdb-storage.ts'
import { loadRecords } from '../../../src/storage/loaded-records.ts'
import type { RecordStorage } from '../../../src/storage/storage.types.ts'

/** A directory that goes with the test. */
export function temporaryDirectory(t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), 'millrace-catalog-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

export interface TestCatalog {
  readonly catalog: Catalog
  readonly path: string
  readonly close: () => Promise<void>
}

/** A catalog on disk, which closes with the test. */
export async function openTestCatalog(
  t: Test,
  { path = join(temporaryDirectory(t), 'catalog.lmdb'), dataSourcesMax = 1_000, pipesMax = 1_000 } = {},
): Promise<TestCatalog> {
  const storage = await openLmdbStorage(path)
  let isOpen = true
  const close = async (): Promise<void> => {
    if (isOpen) await storage.close()
    isOpen = false
  }
  t.teardown(close)
  return { catalog: await catalogOver(storage, { dataSourcesMax, pipesMax, now: () => 2_000 }), path, close }
}

/** The catalog of what is in a storage. */
export async function catalogOver(storage: RecordStorage, options: Partial<CatalogOptions> = {}): Promise<Catalog> {
  const limits = { dataSourcesMax: 100, pipesMax: 100, now: () => 0, ...options }
  return openCatalog(limits, await loadRecords(storage, catalogKinds))
}

/** Runs a test file as a program that writes until it is killed, and gives the lines that it wrote by then. */
export function killedWriter(fileUrl: string, path: string): Promise<readonly string[]> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [fileURLToPath(fileUrl), 'write', path], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let output = ''
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString()
      if (output.split('\n').length > 25) child.kill('SIGKILL')
    })
    child.on('error', reject)
    child.on('close', () => resolve(output.split('\n').slice(0, -1)))
  })
}

/** A data source of one column that no catalog has yet. */
export function dataSource(name: string): DataSource {
  return {
    id: createDataSourceId(),
    name,
    description: '',
    columns: parseSchema('a String `json:$.a`', { columnsMax: 1 }),
    engine: { name: 'MergeTree', options: {} },
    indexes: [],
    kafkaStoreRawValue: false,
    type: 'ndjson',
    createdAt: 1_000,
    updatedAt: 1_000,
    version: 1,
  }
}
