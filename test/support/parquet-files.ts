import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { openEmbeddedStore } from '../../src/store/embedded/embedded-store.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from './store/test-store.ts'

export interface ParquetQuery {
  /** The SELECT whose rows become the file. */
  readonly sql: string
  /** Settings of the writer, without `output_format_parquet_`. */
  readonly settings?: Readonly<Record<string, number | string>>
}

/**
 * Parquet files as the engine writes them, each by the name of its query. Before a service is opened: a process has one
 * engine at a time.
 */
export async function writeParquetFiles(
  queries: Readonly<Record<string, ParquetQuery>>,
): Promise<(name: string) => Buffer> {
  const directory = await createTestDirectory()
  const store = await openEmbeddedStore(testStoreOptions(join(directory.path, 'data')), silentLogger)
  try {
    const files = new Map<string, Buffer>()
    for (const [name, { sql, settings = {} }] of Object.entries(queries)) {
      const path = join(directory.path, `${files.size}.parquet`)
      const given = Object.entries({ batch_size: 1024, ...settings }).map(([setting, value]) => {
        return `output_format_parquet_${setting} = ${typeof value === 'number' ? value : `'${value}'`}`
      })
      await store.command(`${sql} INTO OUTFILE '${path}' FORMAT Parquet SETTINGS max_threads = 1, ${given.join(', ')}`)
      files.set(name, readFileSync(path))
    }
    return (name) => {
      const file = files.get(name)
      if (file === undefined) throw new Error(`no query is named ${name}`)
      return file
    }
  } finally {
    await store.close()
    await directory.remove()
  }
}
