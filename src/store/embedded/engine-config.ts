import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { mebibyte } from '../../shared/bytes.ts'
import { trustedSettings } from '../sql/statement-settings.ts'

/** What the engine may use of the machine, and what a reader's query may use of the engine. */
export interface EngineOptions {
  /** Memory of the whole process at which the engine refuses further work. */
  readonly memoryBytesMax: number
  /** Threads that merge parts. */
  readonly mergeThreads: number
  /** Longest run of a reader's query. */
  readonly queryTimeMaxMs: number
  /** The same of those that may take longer; absent has none. */
  readonly longQueryTimeMaxMs?: number
  /** Most memory of a reader's query. */
  readonly queryMemoryBytesMax: number
}

export const readerRole = 'r_reader'
export const readerProfile = 'reader'

const markCacheBytes = 64 * mebibyte
const mergedPartsMax = 8
const wideBytesMin = 64 * mebibyte
const indexMarkCacheBytes = 16 * mebibyte

// Threads that came for one drop of a table (128 by default) or one scan stayed for ever, up to 1,000 of them, and each that
// has run a statement keeps three descriptors (of its counters in /proc), pages of its stack and its cache of the allocator.
const threadPools = {
  max_thread_pool_free_size: 16,
  max_parts_cleaning_thread_pool_size: 4,
  max_active_parts_loading_thread_pool_size: 8,
  max_outdated_parts_loading_thread_pool_size: 2,
  max_unexpected_parts_loading_thread_pool_size: 2,
  max_io_thread_pool_size: 16,
  max_format_parsing_thread_pool_size: 8,
  max_prefixes_deserialization_thread_pool_size: 8,
  parts_killer_pool_size: 2,
  load_marks_threadpool_pool_size: 4,
  prefetch_threadpool_pool_size: 8,
  threadpool_local_fs_reader_pool_size: 8,
  threadpool_remote_fs_reader_pool_size: 4,
  threadpool_writer_pool_size: 8,
  database_catalog_drop_table_concurrency: 2,
}

/**
 * Writes the engine's two configuration files into `directory` and gives the path of the first.
 *
 * The engine's own defaults are made for a server that has the machine to itself: a mark cache of 5 GB, dozens of
 * background threads. It reads the files once, when its first session opens.
 */
export async function writeEngineConfig(directory: string, options: EngineOptions): Promise<string> {
  await mkdir(directory, { recursive: true })
  const usersPath = join(directory, 'users.xml')
  const enginePath = join(directory, 'engine.xml')
  await writeFile(usersPath, usersXml(options))
  await writeFile(enginePath, engineXml(options, usersPath))
  return enginePath
}

function engineXml({ memoryBytesMax, mergeThreads }: EngineOptions, usersPath: string): string {
  return xmlDocument({
    max_server_memory_usage: memoryBytesMax,
    mark_cache_size: markCacheBytes,
    index_mark_cache_size: indexMarkCacheBytes,
    uncompressed_cache_size: 0,
    index_uncompressed_cache_size: 0,
    mmap_cache_size: 0,
    // These keep what one statement found for another one; see `trustedSettings`.
    query_condition_cache_size: 0,
    query_cache: { max_size_in_bytes: 0, max_entries: 0 },
    ...threadPools,
    background_pool_size: mergeThreads,
    background_merges_mutations_concurrency_ratio: 2,
    background_move_pool_size: 1,
    background_fetches_pool_size: 1,
    background_common_pool_size: 2,
    background_schedule_pool_size: 4,
    background_buffer_flush_schedule_pool_size: 1,
    background_distributed_schedule_pool_size: 1,
    background_message_broker_schedule_pool_size: 1,
    asynchronous_metrics_update_period_s: 60,
    // A dropped table leaves the disk after a second, not after eight minutes. Whoever may drop one may drop a large one.
    database_atomic_delay_before_drop_table_sec: 1,
    max_table_size_to_drop: 0,
    max_partition_size_to_drop: 0,
    // The engine refuses to start a table when these exceed the background threads, and their defaults (8, 20, 25) do.
    merge_tree: {
      number_of_free_entries_in_pool_to_lower_max_size_of_merge: mergeThreads,
      number_of_free_entries_in_pool_to_execute_mutation: mergeThreads,
      number_of_free_entries_in_pool_to_execute_optimize_entire_partition: mergeThreads,
      // A merge holds read buffers for each column of each part: with the default of 100 parts a long import took a
      // tenth more memory than a short one.
      max_parts_to_merge_at_once: mergedPartsMax,
      // One file for all columns of what an INSERT leaves; merges make a file a column of it. With the default of 10 MB an
      // import of 9 columns spent a sixth of its processor time on the files and buffers of each column.
      min_bytes_for_wide_part: wideBytesMin,
    },
    user_directories: { users_xml: { path: usersPath } },
    // With these a role reads what it was granted, and nothing of `system`, of files and of the network besides.
    access_control_improvements: {
      select_from_system_db_requires_grant: 'true',
      select_from_information_schema_requires_grant: 'true',
      table_engines_require_grant: 'true',
      enable_read_write_grants: 'true',
    },
  })
}

function usersXml({ queryTimeMaxMs, longQueryTimeMaxMs = 0, queryMemoryBytesMax }: EngineOptions): string {
  const constant = { const: '' }
  const trusted = Object.fromEntries(Object.keys(trustedSettings).map((name) => [name, constant]))
  return xmlDocument({
    profiles: {
      // Mutations and merges have no session, and take what the default profile says.
      default: trustedSettings,
      [readerProfile]: {
        constraints: {
          max_execution_time: { min: 0.001, max: Math.max(queryTimeMaxMs, longQueryTimeMaxMs) / 1000 },
          max_memory_usage: { min: 1, max: queryMemoryBytesMax },
          additional_table_filters: constant,
          allow_ddl: constant,
          result_overflow_mode: constant,
          ...trusted,
        },
      },
    },
    roles: {
      r_admin: { grants: { query: ['GRANT ALL ON *.*'] } },
      [readerRole]: {
        grants: {
          // A backquoted pattern would be taken literally.
          query: ['GRANT SELECT ON ws_*.*', 'GRANT SELECT ON system.one', 'GRANT SELECT ON system.numbers'],
        },
      },
    },
    users: {
      default: {
        password: '',
        networks: { ip: '::/0' },
        profile: 'default',
        quota: 'default',
        grants: { query: ['GRANT r_admin', `GRANT ${readerRole}`] },
      },
    },
    quotas: { default: {} },
  })
}

type XmlValue = string | number | XmlRepeated | XmlParent

/** One element a string, all of one name. */
type XmlRepeated = readonly string[]

interface XmlParent {
  readonly [name: string]: XmlValue
}

function xmlDocument(content: XmlValue): string {
  return `${xmlElements('clickhouse', content)}\n`
}

function xmlElements(name: string, value: XmlValue): string {
  if (isRepeated(value)) return value.map((item) => xmlElements(name, item)).join('')
  const children = typeof value === 'object' ? Object.entries(value) : []
  const body =
    typeof value === 'object' ? children.map((child) => xmlElements(...child)).join('') : xmlText(String(value))
  return `<${name}>${body}</${name}>`
}

// Array.isArray does not narrow a union with a readonly array by itself.
function isRepeated(value: XmlValue): value is XmlRepeated {
  return Array.isArray(value)
}

function xmlText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
