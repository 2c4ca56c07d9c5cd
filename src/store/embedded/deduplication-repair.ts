/**
 * Takes back deduplication records of parts that never came to be.
 *
 * The engine writes the record of a block before the block's part is committed. A process that is killed in between, or a
 * disk that refuses the part, leaves an orphan: the block looks stored, and the retry that should store it is dropped as
 * its duplicate. So before anything is inserted, and after each INSERT that failed, each record is dropped whose part is
 * neither there nor covered by a part that merges made of it.
 *
 * It runs with the engine open, because only the engine holds the lock that keeps a second process out. A table reads its
 * records when it is attached, so one with orphans is detached, its file replaced, and attached again. Both last no longer
 * than the process: a kill in the middle leaves either the old file or the new one, and the next start looks again.
 */
import { open, readdir, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { quoteString } from '../../shared/text-escapes.ts'
import { clickhouseCodes } from '../engine-codes.ts'
import { qualified } from '../sql/qualified.ts'
import { StoreError } from '../store-error.ts'
import { workspaceDatabase } from '../workspace-database.ts'

/** What the repair needs of the store. */
export interface RepairStatements {
  command(sql: string): Promise<void>
  rows<Row>(sql: string): Promise<readonly Row[]>
}

export interface RepairedTable {
  readonly table: string
  /** Records that were dropped. */
  readonly orphanCount: number
}

interface LoggedTable {
  readonly name: string
  readonly path: string
}

const logsDirectory = 'deduplication_logs'
const addOperation = '1'

/**
 * Looks at every table of the workspace, or at those of these names. Gives the tables that had orphans.
 *
 * Precondition: nobody inserts into them; and a reader that finds one of them gone for a moment does no harm. Tables may be
 * dropped meanwhile.
 */
export async function dropOrphanRecords(
  statements: RepairStatements,
  names: ReadonlySet<string> | null = null,
): Promise<readonly RepairedTable[]> {
  const repaired: RepairedTable[] = []
  for (const { table, files } of await orphanedTables(statements, names)) {
    if (!(await replaceRecords(table, files, statements))) continue
    repaired.push({ table: table.name, orphanCount: files.reduce((total, { orphanCount }) => total + orphanCount, 0) })
  }
  return repaired
}

/** Whether there may be orphans; a block that is being inserted meanwhile looks like one. */
export async function mayHaveOrphanRecords(statements: RepairStatements, names: ReadonlySet<string>): Promise<boolean> {
  return (await orphanedTables(statements, names)).length > 0
}

interface OrphanedTable {
  readonly table: LoggedTable
  readonly files: readonly OrphanedFile[]
}

async function orphanedTables(
  statements: RepairStatements,
  names: ReadonlySet<string> | null,
): Promise<readonly OrphanedTable[]> {
  const logged = await statements.rows<LoggedTable>(
    `SELECT name, data_paths[1] AS path FROM system.tables
     WHERE database = ${quoteString(workspaceDatabase)} AND engine LIKE '%MergeTree' AND notEmpty(data_paths)`,
  )
  const parts = await partsByTable(statements)
  const orphaned: OrphanedTable[] = []
  for (const table of logged) {
    if (names !== null && !names.has(table.name)) continue
    const files = await orphanedFiles(table, new PartNames(parts.get(table.name) ?? []))
    if (files.length > 0) orphaned.push({ table, files })
  }
  return orphaned
}

async function partsByTable(statements: RepairStatements): Promise<ReadonlyMap<string, readonly string[]>> {
  // Parts that merges have replaced count as well: their rows are there, in the part that covers them.
  const rows = await statements.rows<{ readonly table: string; readonly parts: readonly string[] }>(
    `SELECT table, groupArray(name) AS parts FROM system.parts
     WHERE database = ${quoteString(workspaceDatabase)} GROUP BY table`,
  )
  return new Map(rows.map(({ table, parts }) => [table, parts]))
}

interface OrphanedFile {
  readonly path: string
  /** What the file should say. */
  readonly kept: string
  readonly orphanCount: number
}

async function orphanedFiles({ path }: LoggedTable, parts: PartNames): Promise<readonly OrphanedFile[]> {
  const orphaned: OrphanedFile[] = []
  for (const name of await recordFiles(path)) {
    const file = join(path, logsDirectory, name)
    const lines = (await textOf(file)).split('\n')
    const kept = lines.filter((line) => !isOrphan(line, parts))
    const orphanCount = lines.length - kept.length
    if (orphanCount > 0) orphaned.push({ path: file, kept: kept.join('\n'), orphanCount })
  }
  return orphaned
}

async function recordFiles(path: string): Promise<readonly string[]> {
  try {
    const names = await readdir(join(path, logsDirectory))
    return names.filter((name) => /^deduplication_log_\d+\.txt$/.test(name)).sort()
  } catch (error) {
    // A table without a window has no records.
    if (isMissingFile(error)) return []
    throw error
  }
}

/** Empty when the table is gone by now. */
async function textOf(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (isMissingFile(error)) return ''
    throw error
  }
}

function isMissingFile(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}

/** A line is `operation \t part \t block id`; a record that takes another back stays whatever its part is. */
function isOrphan(line: string, parts: PartNames): boolean {
  const [operation, part] = line.split('\t')
  return operation === addOperation && part !== undefined && !parts.covers(part)
}

/** False when the table is gone by now. */
async function replaceRecords(
  { name }: LoggedTable,
  files: readonly OrphanedFile[],
  statements: RepairStatements,
): Promise<boolean> {
  const table = qualified(name)
  try {
    await statements.command(`DETACH TABLE ${table} SETTINGS check_table_dependencies = 0`)
  } catch (error) {
    if (error instanceof StoreError && error.clickhouseCode === clickhouseCodes.unknownTable) return false
    throw error
  }
  try {
    for (const { path, kept } of files) await replaceFile(path, kept)
  } finally {
    await attach(table, statements)
  }
  return true
}

const attachIntervalMs = 50
/** A minute of tries; by then no query reads the table any more. */
const attachTriesMax = 1_200

/** The engine refuses while a query still reads the table that was detached, or while the disk refuses. */
async function attach(table: string, statements: RepairStatements): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await statements.command(`ATTACH TABLE ${table}`)
      return
    } catch (error) {
      const isLasting = !(error instanceof StoreError) || error.kind !== 'engine' || tries >= attachTriesMax
      if (isLasting) throw error
      await delay(attachIntervalMs)
    }
  }
}

async function replaceFile(path: string, text: string): Promise<void> {
  // The engine reads only names of its own, so what a kill leaves of this one does no harm.
  const draft = `${path}.repair`
  const handle = await open(draft, 'w')
  try {
    await handle.writeFile(text)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(draft, path)
}

interface BlockRange {
  readonly first: number
  readonly last: number
}

/** The parts of one table, asked whether they hold what was once another part. */
class PartNames {
  readonly #names: ReadonlySet<string>
  readonly #rangesByPartition = new Map<string, BlockRange[]>()

  constructor(names: readonly string[]) {
    this.#names = new Set(names)
    for (const name of names) {
      const place = readPartName(name)
      if (place === null) continue
      const ranges = this.#rangesByPartition.get(place.partition)
      if (ranges === undefined) this.#rangesByPartition.set(place.partition, [place])
      else ranges.push(place)
    }
  }

  covers(name: string): boolean {
    if (this.#names.has(name)) return true
    const place = readPartName(name)
    // What has no name of a part is nothing that we understand, and stays.
    if (place === null) return true
    const ranges = this.#rangesByPartition.get(place.partition) ?? []
    return ranges.some(({ first, last }) => first <= place.first && place.last <= last)
  }
}

/** `<partition>_<first block>_<last block>_<level>[_<mutation>]`; the partition's own text may hold underscores. */
function readPartName(name: string): (BlockRange & { readonly partition: string }) | null {
  const fields = /^(.+?)_(\d+)_(\d+)_\d+(?:_\d+)?$/.exec(name)
  const [, partition, first, last] = fields ?? []
  if (partition === undefined || first === undefined || last === undefined) return null
  return { partition, first: Number(first), last: Number(last) }
}
