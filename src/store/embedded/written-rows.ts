import { stat } from 'node:fs/promises'
import type { PartFile } from '../../codec/arrow/part.types.ts'
import { writtenRowsStatement } from '../sql/append-statement.ts'
import type { InsertLimits } from '../sql/statement-settings.ts'
import type { TableRows } from '../store.types.ts'
import type { EngineDoors } from './engine-doors.ts'
import type { PartFiles } from './part-files.ts'

interface WrittenRowsDeps {
  readonly engine: Pick<EngineDoors, 'copiers'>
  readonly partFiles: Pick<PartFiles, 'newPath' | 'remove'>
  readonly limits: InsertLimits
}

/** See `Store.writeRows`. */
export async function writeRows(rows: TableRows, { engine, partFiles, limits }: WrittenRowsDeps): Promise<PartFile> {
  const path = partFiles.newPath()
  const statement = writtenRowsStatement(rows, path, limits)
  try {
    await engine.copiers.use((session) => session.run(statement))
    return { path, byteCount: (await stat(path)).size }
  } catch (thrown) {
    await partFiles.remove([path])
    throw thrown
  }
}
