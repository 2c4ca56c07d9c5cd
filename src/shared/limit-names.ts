/** Every limit that callers can meet or ask for, as `GET /v0/limits`, errors and metrics name it. */
export const limitNames = [
  ...(['creates_from_schema', 'imports', 'events', 'creates_by_events', 'secret_requests'] as const),
  ...(['queries_per_second', 'queries_per_minute', 'queries_per_day', 'token_requests', 'connections'] as const),
  ...(['overage_costs'] as const),
  ...(['data_sources', 'columns', 'pipes', 'tokens', 'secrets', 'materialized_views', 'storage'] as const),
  ...(['body_upload_size', 'multipart_size', 'multipart_parquet_size', 'form_size', 'parquet_file_size'] as const),
  ...(['uncompressed_file_size', 'parts_at_once', 'events_request_size', 'record_size'] as const),
  ...(['url_file_size', 'url_import_time'] as const),
  ...(['sql_length', 'result_size', 'query_time', 'query_memory', 'query_threads', 'processor_time'] as const),
  ...(['delete_jobs', 'jobs_waiting', 'jobs_waiting_per_token', 'job_results', 'job_results_per_token'] as const),
  ...(['queries_waiting', 'endpoint_concurrency', 'results_unread', 'events_backlog', 'bodies_in_flight'] as const),
  ...(['requests_ahead', 'changes_waiting', 'receipt_waits', 'job_watches', 'job_watches_per_token'] as const),
  ...(['events_rows', 'insert_cost', 'definition_cost', 'verify_time', 'job_order_size'] as const),
  ...(['workspaces', 'members', 'branches', 'copy_pipes', 'copy_jobs', 'sink_pipes', 'sink_jobs'] as const),
  ...(['kafka_topics', 'object_store_imports', 'table_store_imports', 'llm_credits'] as const),
] as const

export type LimitName = (typeof limitNames)[number]
