/**
 * Which characters the texts of a type are made of, for the kernel: a text with any other one is refused without a look by the
 * coercion of its type. Who lets a coercion take a new spelling adds its characters here; the test of the coercions holds
 * both together.
 */
import type { ColumnType } from '../../schema/types/column-type.types.ts'

const blanks = ' \t'
const exactNumber = '0123456789+-.eE'

/**
 * Every character that is in some text which the type takes: one too many costs time, one too few loses rows. Null where
 * any may be.
 */
export function possibleCharactersOf(type: ColumnType): string | null {
  switch (type.kind) {
    case 'integer':
    case 'decimal':
      return blanks + exactNumber
    case 'float':
      return `${blanks + exactNumber}nNaAiIfFtTyY`
    case 'bool':
      return `${blanks}01trueTRUEfalseFALSEyesYESnoNOonONoffOFF`
    case 'date':
    case 'date32':
    case 'dateTime':
    case 'dateTime64':
      return `${blanks}0123456789+-/.:TtZzUuCcGgMm`
    case 'uuid':
      return `${blanks}0123456789abcdefABCDEF-`
    default:
      return null
  }
}
