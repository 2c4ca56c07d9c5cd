/**
 * What the kernel must know to set a record aside by itself: which bytes may stand in a text that a column takes, and the
 * words of its reasons. It says nothing of values that might fit: those are for the exact path (`coercion/`).
 */

import type { ColumnDefinition } from '../../schema/columns/column-definition.types.ts'
import { valueTypeOf } from '../../schema/types/column-type.ts'
import { possibleCharactersOf } from '../coercion/possible-characters.ts'
import { missingReason, reasonOf } from './row-reason.ts'

export interface RefusalPlan {
  /** ASCII codes; a text with any other byte is refused. Null where texts are for the exact path to judge. */
  readonly possible: ReadonlySet<number> | null
  /** A reason is `value '`, the value, and this. */
  readonly tail: string
  readonly missing: string
  readonly name: string
}

const reasonHead = "value '"

export function planRefusal(definition: ColumnDefinition): RefusalPlan {
  const characters = possibleCharactersOf(valueTypeOf(definition.type))
  return {
    possible: characters === null ? null : new Set(Array.from(characters, (character) => character.charCodeAt(0))),
    tail: reasonOf(definition, '').slice(reasonHead.length),
    missing: missingReason(definition),
    name: definition.name,
  }
}
