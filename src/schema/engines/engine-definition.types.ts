export interface EngineDefinition {
  /** `MergeTree`, `ReplacingMergeTree`, …, `Join`, `Null`. */
  readonly name: string
  /** Parameters and options by API name without `engine_`: `sorting_key`, `partition_key`, `ver`, `ttl`, … */
  readonly options: Readonly<Record<string, string>>
}
