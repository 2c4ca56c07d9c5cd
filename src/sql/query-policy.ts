// What a query may use besides functions, all of it by lists of what is allowed.

import type { ParsedQuery, SettingUse } from '../schema/syntax/parsed-query.types.ts'
import { SqlFault } from '../schema/syntax/sql-fault.ts'

/** Tables of the engine that say nothing about it. */
export const systemTables: ReadonlySet<string> = new Set(['system.one', 'system.numbers'])

// Settings that change neither a limit, nor what a row filter says of a row, nor what is logged or cached.
const harmlessSettings: ReadonlySet<string> = new Set(
  `aggregate_functions_null_for_empty allow_dynamic_type_in_join_keys allow_suspicious_types_in_group_by
   allow_suspicious_types_in_order_by any_join_distinct_right_table_keys
   do_not_merge_across_partitions_select_final enable_positional_arguments except_default_mode
   group_by_use_nulls intersect_default_mode join_use_nulls joined_subquery_requires_alias
   optimize_aggregation_in_order optimize_move_to_prewhere optimize_read_in_order optimize_use_projections
   output_format_csv_crlf_end_of_line output_format_decimal_trailing_zeros output_format_json_array_of_rows
   output_format_json_escape_forward_slashes output_format_json_named_tuples_as_objects
   output_format_json_quote_64bit_floats output_format_json_quote_64bit_integers output_format_json_quote_decimals
   output_format_json_quote_denormals output_format_parquet_string_as_string output_format_write_statistics
   prefer_column_name_to_alias totals_mode union_default_mode`.split(/\s+/),
)

/**
 * What a query depends on that reads a table through a row filter. The engine plans by the sizes of tables, hidden rows among
 * them, and the order of rows, which of them a LIMIT leaves, and what a window numbers alike, tell how it has planned.
 */
export const filteredSettings: Readonly<Record<string, string | number>> = {
  // A column that is built anew may be one that the engine refuses unless told: `LowCardinality(UInt8)`.
  allow_suspicious_low_cardinality_types: 1,
  // Tables are joined as they are written.
  query_plan_join_swap_table: 'false',
  query_plan_optimize_join_order_limit: 0,
  // Hash tables are not made for as many rows as an earlier query had, whose order their own follows.
  collect_hash_table_stats_during_aggregation: 0,
  collect_hash_table_stats_during_joins: 0,
  use_hash_table_stats_for_join_reordering: 0,
  use_statistics: 0,
  // Groups behind a LIMIT are left out as blocks end, and these end with the hidden rows.
  optimize_trivial_group_by_limit_query: 0,
}

// No setting of the list has another; the engine tells values in the text that the second opinion reads.
const plainValue = /^(?:-?[0-9.]+|\w+|'\w*')$/

/** Refuses settings that are on no list. */
export function checkSettings({ settings }: ParsedQuery): void {
  for (const { name, value } of settings) {
    if (!harmlessSettings.has(name)) throw new SqlFault(`Setting '${name}' is not allowed`)
    if (!plainValue.test(value)) throw new SqlFault(`The value of the setting '${name}' is not allowed`)
  }
}

/** The value of a setting: `true` and `false` are 1 and 0. */
export function settingValue({ value }: SettingUse): string | number {
  if (value.startsWith("'")) return value.slice(1, -1)
  if (/^-?[0-9.]/.test(value)) return Number(value)
  return value === 'true' ? 1 : value === 'false' ? 0 : value
}
