import type { CheckedExpression } from '../../schema/expressions/checked-text.types.ts'
import { quoteString } from '../../shared/text-escapes.ts'
import type { ChunkPiece } from '../pins.types.ts'
import { qualified } from './qualified.ts'
import { rowsAlias } from './rows-alias.ts'

export interface ChunkRows {
  readonly pieces: readonly ChunkPiece[]
  /** Whether the pieces are all rows of the pin: then no row is compared with them, which took 5 % of a statement. Absent is false. */
  readonly areAll?: boolean
  /** Over the columns, in brackets; null takes all rows. */
  readonly condition: CheckedExpression | null
}

/** What stands behind FROM for some rows of a pin. */
export function chunkRowsText(pin: string, { pieces, areAll = false, condition }: ChunkRows): string {
  const whole = pieces.filter(({ range, sample }) => range === null && sample === undefined)
  const others = pieces.filter((piece) => !whole.includes(piece))
  const choices = [
    ...(whole.length === 0 ? [] : [`${part} IN (${whole.map(({ part: name }) => quoteString(name)).join(', ')})`]),
    ...others.map(pieceText),
  ]
  const rows = choices.length === 1 ? choices.join('') : `(${choices.join(' OR ')})`
  const where = [...(areAll ? [] : [rows]), ...(condition === null ? [] : [condition])].join(' AND ')
  return `(SELECT * FROM ${qualified(pin)} AS ${rowsAlias}${where === '' ? '' : ` WHERE ${where}`})`
}

const part = `${rowsAlias}._part`
/** By its number the engine finds the marks, and so reads no more of the part than it must. */
const row = `${rowsAlias}._part_offset`

function pieceText({ part: name, range, sample }: ChunkPiece): string {
  const conditions = [
    `${part} = ${quoteString(name)}`,
    ...(range === null ? [] : [`${row} >= ${range.from}`, `${row} < ${range.to}`]),
    ...(sample === undefined ? [] : [`${row} % ${sample.step} = ${sample.rest}`]),
  ]
  return `(${conditions.join(' AND ')})`
}
