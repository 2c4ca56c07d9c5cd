// The engines of the API and their parameters: which engine takes which, and which it needs.

export type EngineName =
  | 'MergeTree'
  | 'ReplacingMergeTree'
  | 'SummingMergeTree'
  | 'AggregatingMergeTree'
  | 'CollapsingMergeTree'
  | 'VersionedCollapsingMergeTree'
  | 'Join'
  | 'Null'

/** Parameters and options by API name without `engine_`. */
export type EngineOption =
  | 'partition_key'
  | 'sorting_key'
  | 'primary_key'
  | 'sampling_key'
  | 'ttl'
  | 'settings'
  | 'ver'
  | 'is_deleted'
  | 'columns'
  | 'sign'
  | 'version'
  | 'join_strictness'
  | 'join_type'
  | 'key_columns'

interface EngineSpecification {
  readonly required: readonly EngineOption[]
  readonly optional: readonly EngineOption[]
}

const mergeTreeOptions = ['partition_key', 'sorting_key', 'primary_key', 'sampling_key', 'ttl', 'settings'] as const

const engines: Readonly<Record<EngineName, EngineSpecification>> = {
  MergeTree: { required: [], optional: mergeTreeOptions },
  ReplacingMergeTree: { required: [], optional: [...mergeTreeOptions, 'ver', 'is_deleted'] },
  SummingMergeTree: { required: [], optional: [...mergeTreeOptions, 'columns'] },
  AggregatingMergeTree: { required: [], optional: mergeTreeOptions },
  CollapsingMergeTree: { required: ['sign'], optional: mergeTreeOptions },
  VersionedCollapsingMergeTree: { required: ['sign', 'version'], optional: mergeTreeOptions },
  Join: { required: ['join_strictness', 'join_type', 'key_columns'], optional: ['settings'] },
  Null: { required: [], optional: [] },
}

/** The eight engines, in the order of the API's documentation. */
// Object.keys gives plain strings; the literal above has these keys and no others.
export const engineNames = Object.keys(engines) as readonly EngineName[]

/** The engine with exactly this name. */
export function findEngineName(name: string): EngineName | undefined {
  return engineNames.find((known) => known === name)
}

export function engineSpecification(name: EngineName): EngineSpecification {
  return engines[name]
}

/** Whether the engine keeps parts on disk, with keys, a TTL and deduplication. */
export function isMergeTree(name: EngineName): boolean {
  return name.endsWith('MergeTree')
}

/** Every parameter of the API that is about an engine: `engine_sorting_key` and its like, each once. */
export const engineParameters: readonly string[] = [
  ...new Set(Object.values(engines).flatMap(({ required, optional }) => [...required, ...optional])),
].map((option) => `engine_${option}`)
