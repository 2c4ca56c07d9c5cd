import { assert } from '../../shared/assert.ts'
import { mebibyte } from '../../shared/bytes.ts'
import { quoteString } from '../../shared/text-escapes.ts'

/** Settings by the engine's names. */
export type Settings = Readonly<Record<string, string | number>>

/** More rows than a part can have: no block of an append is ever cut before this. */
export const appendRowsMax = 1_000_000_000

/**
 * What every statement depends on, whoever sends it: the engine keeps nothing of one statement that answers another.
 *
 * The condition cache of ClickHouse 26.7 remembers granules in which no row met a condition. Behind a PREWHERE with ORDER
 * BY and LIMIT it takes granules that were never read for such ones, and from then on everybody who uses the condition
 * gets too few rows.
 */
export const trustedSettings: Settings = {
  use_query_condition_cache: 0,
  use_query_condition_cache_for_top_k: 0,
  use_query_cache: 0,
}

/**
 * What an append depends on, whatever the engine's defaults are or become: one block a statement, deduplicated by its
 * token here and in every view behind it, NULL replaced by DEFAULT where a column cannot hold it.
 */
export const appendSettings: Settings = {
  ...trustedSettings,
  async_insert: 0,
  insert_deduplicate: 1,
  deduplicate_insert: 'enable',
  deduplicate_insert_select: 'force_enable',
  deduplicate_blocks_in_dependent_materialized_views: 1,
  max_block_size: appendRowsMax,
  max_insert_block_size: appendRowsMax,
  max_insert_block_size_bytes: 0,
  min_insert_block_size_rows: appendRowsMax,
  min_insert_block_size_bytes: 0,
  // Measured: one thread is as fast for a part of a few megabytes, and several would cut the block.
  max_threads: 1,
  max_insert_threads: 1,
  // Rows of a hundred days in one body are no fault of the sender; refusing the block would lose them.
  max_partitions_per_insert_block: 0,
  optimize_on_insert: 1,
  materialized_views_ignore_errors: 0,
  insert_null_as_default: 1,
  input_format_null_as_default: 1,
  // A field of the layout that the part lacks is a fault of ours, and must not become a column of zeros.
  input_format_arrow_allow_missing_columns: 0,
  input_format_arrow_case_insensitive_column_matching: 0,
  type_json_skip_duplicated_paths: 1,
  // Else the engine takes strings inside JSON for dates, turns 2024-02-30 into 2024-03-01, and refuses an array in which
  // such a day stands beside a time.
  input_format_try_infer_dates: 0,
  input_format_try_infer_datetimes: 0,
  input_format_json_read_bools_as_numbers: 0,
  session_timezone: 'UTC',
}

/**
 * What a fill depends on beside that: its query goes through its rows in small pieces, which become one block at its end, so what it holds is
 * what it gives. It reads as one that recomputes a view does. Conditions on the part and the number of a row choose what is read by
 * themselves; looked at before the other columns they cost a fifth more. Measured: pieces of half the common size are grouped in 0.92 of
 * the time.
 */
export const fillSettings: Settings = {
  max_block_size: 32_768,
  union_default_mode: 'DISTINCT',
  optimize_move_to_prewhere: 0,
}

/** What one INSERT may take. */
export interface InsertLimits {
  readonly timeMaxMs: number
  readonly memoryBytesMax: number
}

/** Expressions of a definition run within an INSERT: what they cost is bounded as that of a query is. */
export function limitSettings(limits: InsertLimits | undefined): Settings {
  if (limits === undefined) return {}
  const { timeMaxMs, memoryBytesMax } = limits
  return {
    max_execution_time: Math.max(1, Math.ceil(timeMaxMs / 1000)),
    timeout_overflow_mode: 'throw',
    max_memory_usage: memoryBytesMax,
  }
}

/**
 * What a copy depends on: blocks of a common size, each stored however like another one it is, and the same readings of
 * values as in an append, because views are computed anew by copies.
 */
export const copySettings: Settings = {
  ...appendSettings,
  insert_deduplicate: 0,
  deduplicate_insert: 'disable',
  deduplicate_insert_select: 'disable',
  deduplicate_blocks_in_dependent_materialized_views: 0,
  max_block_size: 65_536,
  max_insert_block_size: 1_048_576,
  min_insert_block_size_rows: 1_048_576,
  min_insert_block_size_bytes: 64 * mebibyte,
  union_default_mode: 'DISTINCT',
  timeout_overflow_mode: 'throw',
  // Rows are copied as they are; engines that join rows do it when they merge.
  optimize_on_insert: 0,
}

const parquetMemoryBytesMax = 256 * mebibyte

/** How Parquet is read, for appends and for looking at a file. */
export const parquetSettings: Settings = {
  max_threads: 1,
  input_format_parquet_use_native_reader_v3: 1,
  // Columns are told by the names that they have in the file, JSON is text, and a list of groups stays one column.
  input_format_parquet_case_insensitive_column_matching: 0,
  input_format_parquet_enable_json_parsing: 0,
  input_format_parquet_allow_geoparquet_parser: 0,
  input_format_parquet_import_nested: 0,
  input_format_parquet_allow_missing_columns: 0,
  input_format_parquet_local_time_as_utc: 1,
  input_format_parquet_verify_checksums: 1,
  // All rows are looked at, and a slice of a file has none of the indexes behind its row groups.
  input_format_parquet_filter_push_down: 0,
  input_format_parquet_bloom_filter_push_down: 0,
  input_format_parquet_page_filter_push_down: 0,
  input_format_parquet_use_offset_index: 0,
  use_parquet_metadata_cache: 0,
  input_format_parquet_preserve_order: 1,
  input_format_parquet_memory_high_watermark: parquetMemoryBytesMax,
  schema_inference_use_cache_for_file: 0,
  schema_inference_make_columns_nullable: 'auto',
  print_pretty_type_names: 0,
  cast_string_to_date_time_mode: 'basic',
  output_format_json_quote_64bit_integers: 0,
  output_format_json_quote_denormals: 0,
  session_timezone: 'UTC',
}

/** What a reader's query depends on; real projects group and join by JSON columns, join what has no alias, and write UNION alone. */
export const selectSettings: Settings = {
  ...trustedSettings,
  implicit_select: 0,
  union_default_mode: 'DISTINCT',
  allow_suspicious_types_in_group_by: 1,
  allow_suspicious_types_in_order_by: 1,
  allow_dynamic_type_in_join_keys: 1,
  joined_subquery_requires_alias: 0,
  timeout_overflow_mode: 'throw',
  result_overflow_mode: 'throw',
  // A call of a function is not stopped in its middle: the engine's own maximum takes 4 GB, and half a minute where it is unrolled.
  function_range_max_elements_in_block: 100_000_000,
  // Readers of Arrow may know no compression, as that in JavaScript does not.
  output_format_arrow_compression_method: 'none',
  // A text that is cut in the middle of a letter must be JSON in lines too, as it is in the format JSON.
  output_format_json_validate_utf8: 1,
  session_timezone: 'UTC',
}

/** What our own statements depend on: what a schema may hold, and rows that are read back as JSON. */
export const controlSettings: Settings = {
  ...trustedSettings,
  // The casts of a wide Parquet file are long texts, and all of them ours.
  max_query_size: 64 * mebibyte,
  max_ast_elements: 10_000_000,
  max_expanded_ast_elements: 10_000_000,
  implicit_select: 0,
  allow_suspicious_low_cardinality_types: 1,
  allow_suspicious_variant_types: 1,
  allow_suspicious_types_in_group_by: 1,
  allow_suspicious_types_in_order_by: 1,
  allow_dynamic_type_in_join_keys: 1,
  output_format_json_quote_64bit_integers: 0,
  session_timezone: 'UTC',
}

/** `a = 1, b = 'x'`, as it stands after SETTINGS or SET. */
export function settingsText(settings: Settings): string {
  return Object.entries(settings)
    .map(([name, value]) => {
      assert(/^[a-z][a-z0-9_]*$/.test(name), 'a setting has a name of the engine')
      return `${name} = ${typeof value === 'number' ? value : quoteString(value)}`
    })
    .join(', ')
}
