import { beginningOf } from '../../shared/beginning-of.ts'
import { didYouMean } from '../../shared/nearest-name.ts'
import { TextError } from '../../shared/text-error.ts'
import type { TextToken } from '../syntax/text-tokens.ts'
import { TokenCursor } from '../syntax/token-cursor.ts'

export interface EngineSetting {
  readonly name: string
  /** As it stands in CREATE TABLE. */
  readonly value: string
}

/**
 * What the settings of a table may be: how its rows are laid out, merged and dropped. Others would say where it keeps its parts,
 * what an insert may refuse or forget, and how much the engine does for it beside that, which is for whoever runs the service.
 */
export const tableSettings: ReadonlySet<string> = new Set(
  `add_minmax_index_for_numeric_columns add_minmax_index_for_string_columns add_minmax_index_for_temporal_columns
   allow_coalescing_columns_in_partition_or_order_key allow_experimental_replacing_merge_with_cleanup
   allow_experimental_reverse_key allow_floating_point_partition_key allow_nullable_key
   allow_summing_columns_in_partition_or_order_key allow_suspicious_indices check_sample_column_is_correct
   clean_deleted_rows compatibility_allow_sampling_expression_not_in_primary_key compress_marks compress_primary_key
   deduplicate_merge_projection_mode enable_mixed_granularity_parts
   enable_replacing_merge_with_cleanup_for_min_age_to_force_merge enable_vertical_merge_algorithm index_granularity
   index_granularity_bytes lightweight_mutation_projection_mode marks_compress_block_size materialize_ttl_recalculate_only
   max_bytes_to_merge_at_max_space_in_pool max_bytes_to_merge_at_min_space_in_pool max_compress_block_size
   max_parts_to_merge_at_once merge_max_block_size merge_max_block_size_bytes merge_with_recompression_ttl_timeout
   merge_with_ttl_timeout min_age_to_force_merge_on_partition_only min_age_to_force_merge_seconds min_bytes_for_wide_part
   min_compress_block_size min_index_granularity_bytes min_rows_for_wide_part non_replicated_deduplication_window optimize_row_order
   primary_key_compress_block_size ratio_of_defaults_for_sparse_serialization ttl_only_drop_parts
   vertical_merge_algorithm_min_bytes_to_activate vertical_merge_algorithm_min_columns_to_activate
   vertical_merge_algorithm_min_rows_to_activate write_final_mark`.split(/\s+/),
)

/** What a Join table may set, as settings of queries that it keeps. */
export const joinSettings: ReadonlySet<string> = new Set(
  'join_any_take_last_row join_overflow_mode join_use_nulls max_bytes_in_join max_rows_in_join'.split(' '),
)

/**
 * Reads `engine_settings`: `index_granularity = 1024, ttl_only_drop_parts = 1`.
 *
 * @throws TextError when it is no list of names and plain values, or sets what a table may not.
 */
export function parseEngineSettings(text: string): readonly EngineSetting[] {
  return readSettings(text, checkName)
}

/** The same for a definition that is stored: what it sets may have been allowed when it was made. */
export function storedEngineSettings(text: string): readonly EngineSetting[] {
  return readSettings(text, () => undefined)
}

function checkName({ text, offset }: TextToken): void {
  if (tableSettings.has(text) || joinSettings.has(text)) return
  const allowed =
    'a table sets how its rows are laid out, merged and dropped, as with index_granularity or ttl_only_drop_parts'
  const advice = didYouMean(text, [...tableSettings, ...joinSettings])
  throw new TextError({ reason: `engine_settings cannot set '${beginningOf(text, 100)}': ${allowed}`, offset, advice })
}

function readSettings(text: string, check: (name: TextToken) => void): readonly EngineSetting[] {
  const cursor = new TokenCursor(text)
  const settings: EngineSetting[] = []
  do {
    const setting = readSetting(cursor, check)
    if (settings.some(({ name }) => name === setting.name)) {
      throw new TextError({ reason: `engine_settings has '${setting.name}' twice`, offset: 0 })
    }
    settings.push(setting)
  } while (cursor.takeSymbolIf(','))
  cursor.expectEnd('in engine_settings')
  return settings
}

function readSetting(cursor: TokenCursor, check: (name: TextToken) => void): EngineSetting {
  const name = cursor.take()
  if (name.kind !== 'word') {
    throw new TextError({ reason: 'engine_settings looks like name = value, …', offset: name.offset })
  }
  check(name)
  cursor.expectSymbol('=', `after '${name.text}' in engine_settings`)
  return { name: name.text, value: readValue(cursor, name.text) }
}

function readValue(cursor: TokenCursor, name: string): string {
  const { offset } = cursor.peek()
  cursor.takeSymbolIf('-')
  const token = cursor.take()
  if (token.kind === 'number') {
    if (cursor.takeSymbolIf('.')) cursor.take()
    const value = cursor.textFrom(offset)
    if (/^-?[0-9]{1,20}(\.[0-9]{1,20})?$/.test(value)) return value
  }
  const isBoolean = token.kind === 'word' && /^(true|false)$/i.test(token.text)
  const isUnsigned = token.offset === offset
  if (isUnsigned && (token.kind === 'string' || isBoolean)) return token.text
  throw new TextError({ reason: `engine_settings needs a number or a text in quotes for '${name}'`, offset })
}
