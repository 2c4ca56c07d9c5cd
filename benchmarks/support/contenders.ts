import { createWriteStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { assert } from '../../src/shared/assert.ts'
import { clickHouseAt, rowsOf } from './clickhouse.ts'
import { arrowContender, engineFormats, textContender } from './clickhouse-contender.ts'
import type { Bench, CaseOptions, Contender, ImportCase, StoredRows } from './import-case.types.ts'
import { serviceContender } from './service-contender.ts'
import { selectStored } from './stored-rows.ts'
import type { WorkloadTables } from './workload.types.ts'
import { type BodyPlan, badRowCount } from './workload-bytes.ts'
import { workloads } from './workloads.ts'

/** Every hundredth row of the dirty body has a word where a number belongs. */
const badEvery = 100

/** Writes the bodies of a case and gives its receivers in the order they are measured. */
export async function prepareContenders(
  bench: Bench,
  importCase: ImportCase,
  options: CaseOptions,
): Promise<readonly Contender[]> {
  const { workload, format } = importCase
  const plan: BodyPlan = { workload, format, rowCount: options.rowCount, seed: options.seed, badEvery: null }
  const tables = workloads[workload].formats[format]
  const bodyPath = join(bench.directory, `${importCase.name}.${format}`)
  const byteCount = await bench.sender.write(plan, bodyPath)
  const arrowPath = join(bench.directory, `${importCase.name}.arrow`)
  const stored = await readByEngine({ bench, importCase, tables, bodyPath, arrowPath })
  assert(stored.rowCount === String(options.rowCount), 'the engine reads every row of a clean body')
  const clickHouse = [
    textContender({ server: bench.clickHouse, format, tables, bodyPath, byteCount, stored }),
    arrowContender({ server: bench.clickHouse, tables, arrowPath, byteCount: (await stat(arrowPath)).size, stored }),
  ]
  if (bench.service === null) return clickHouse
  const dirtyPlan = { ...plan, badEvery }
  const dirtyPath = join(bench.directory, `${importCase.name}-dirty.${format}`)
  const dirtyByteCount = await bench.sender.write(dirtyPlan, dirtyPath)
  const side = { service: bench.service, importCase, tables }
  return [
    serviceContender({ ...side, name: 'millrace', bodyPath, byteCount, stored, badCount: 0 }),
    ...clickHouse,
    serviceContender({
      ...side,
      name: 'dirty',
      bodyPath: dirtyPath,
      byteCount: dirtyByteCount,
      stored: { rowCount: String(options.rowCount - badRowCount(dirtyPlan)), checksum: null },
      badCount: badRowCount(dirtyPlan),
    }),
  ]
}

/** Lets the engine read the file itself, outside of any measurement: the checksum, and the rows as Arrow in the file's order. */
async function readByEngine(options: {
  readonly bench: Bench
  readonly importCase: ImportCase
  readonly tables: WorkloadTables
  readonly bodyPath: string
  readonly arrowPath: string
}): Promise<StoredRows> {
  const { tables } = options
  const client = clickHouseAt(options.bench.clickHouse.url)
  const settings = Object.entries({ max_threads: '1', ...tables.clickHouseSettings }).map(
    ([name, value]) => `${name} = '${value}'`,
  )
  const structure = tables.clickHouseColumns.replaceAll("'", "\\'")
  const file = `file('${options.bodyPath}', '${engineFormats[options.importCase.format]}', '${structure}')`
  const response = await fetch(options.bench.clickHouse.url, {
    method: 'POST',
    body: `SELECT ${tables.floorSelect} FROM ${file} SETTINGS ${settings.join(', ')} FORMAT ArrowStream`,
  })
  if (!response.ok || response.body === null) throw new Error(`the Arrow body failed: ${await response.text()}`)
  await pipeline(Readable.fromWeb(response.body), createWriteStream(options.arrowPath))
  const select = selectStored(file, tables.clickHouseChecksum)
  const [stored] = await rowsOf<StoredRows>(client, `${select} SETTINGS ${settings.join(', ')}`)
  assert(stored !== undefined, 'an aggregate gives one row')
  return stored
}
