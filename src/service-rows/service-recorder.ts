import { cutText, redactedText, wordCharsMax } from '../observe/log-secrets.ts'
import { isSecretName } from '../observe/secret-names.ts'
import type {
  BlockRecord,
  JobRecord,
  LimitRecord,
  OperationRecord,
  RecordedSource,
  RequestRecord,
  StorageRecord,
  TokenRecord,
  WorkRecorder,
} from '../observe/work-recorder.types.ts'
import type { ServiceTableName } from '../store/sql/service-tables.ts'
import { PipeTotals } from './pipe-totals.ts'
import { rowLine } from './row-line.ts'
import type { RowSecrets } from './row-secrets.ts'
import type { RowWriter } from './row-writer.ts'

const urlCharsMax = 4_000
const valueCharsMax = 1_000
const nameCharsMax = 200
/** Of data sources, pipes and tokens, whose names have 256 characters at most. */
const resourceCharsMax = 300
const agentCharsMax = 300
const errorCharsMax = 2_000
const parametersMax = 50
const metadataCharsMax = 8_000

/** Details of jobs that are no numbers, and have no values of rows and none that callers sent: conditions, partitions and warnings do. */
const plainDetails: ReadonlySet<string> = new Set([
  'datasource_id',
  'datasource_name',
  'pipeId',
  'pipeName',
  'queryId',
  'queries',
  'urls',
  'contentType',
])

/** Makes rows of what modules tell, without tokens and secrets, each field with a maximum. */
export class ServiceRecorder implements WorkRecorder {
  readonly isOn = true
  readonly #writer: Pick<RowWriter, 'add' | 'droppedCount' | 'wake'>
  readonly #secrets: Pick<RowSecrets, 'cleanValue'>
  readonly #totals: PipeTotals

  constructor(writer: Pick<RowWriter, 'add' | 'droppedCount' | 'wake'>, secrets: Pick<RowSecrets, 'cleanValue'>) {
    this.#writer = writer
    this.#secrets = secrets
    this.#totals = new PipeTotals((row) => this.#write('pipe_stats', row))
  }

  get droppedCount(): number {
    return this.#writer.droppedCount
  }

  /** Gives the rows that are made of several records. */
  drain(): void {
    this.#totals.drain()
  }

  request(record: RequestRecord): void {
    const { error } = record
    const url = this.#clean(record.url, urlCharsMax)
    const parameters = this.#parameters(record.parameters)
    const start_datetime = seconds(record.startedAtMs)
    const told = { ...record, pipeId: this.#name(record.pipeId), pipeName: this.#name(record.pipeName) }
    const pipe = { pipe_id: told.pipeId, pipe_name: told.pipeName }
    const row = {
      start_datetime,
      ...pipe,
      duration: record.durationMs / 1000,
      read_bytes: record.readBytes,
      read_rows: record.readRows,
      result_rows: record.resultRows,
      url,
      error: error === null ? 0 : 1,
      request_id: record.requestId,
      token: record.tokenId,
      token_name: this.#name(record.tokenName),
      status_code: record.statusCode,
      method: record.method,
      parameters,
      user_agent: this.#clean(record.userAgent, agentCharsMax),
    }
    this.#write('pipe_stats_rt', row)
    this.#totals.add(told)
    this.#writer.wake()
    if (error === null) return
    const failure = {
      start_datetime,
      request_id: record.requestId,
      ...pipe,
      params: parameters,
      url,
      status_code: record.statusCode,
      error: this.#clean(error, errorCharsMax),
    }
    this.#write('endpoint_errors', failure)
  }

  operation(record: OperationRecord): void {
    const { eventType, dataSource, startedAtMs, elapsedMs, error, pipe } = record
    const { rows = 0, quarantinedRows = 0, readBytes = 0, blockIds = [], options = {} } = record
    const { importId = '', jobId = '', requestId = '' } = record
    this.#write('datasources_ops_log', {
      timestamp: seconds(startedAtMs),
      event_type: eventType,
      ...this.#source(dataSource),
      result: error === null ? 'ok' : 'error',
      elapsed_time: elapsedMs / 1000,
      error: error === null ? '' : this.#clean(error, errorCharsMax),
      import_id: importId,
      job_id: jobId,
      request_id: requestId,
      rows,
      rows_quarantine: quarantinedRows,
      blocks_ids: blockIds,
      'Options.Names': Object.keys(options).map((name) => this.#name(name)),
      'Options.Values': Object.values(options).map((value) => this.#clean(value, valueCharsMax)),
      pipe_id: this.#name(pipe?.id ?? ''),
      pipe_name: this.#name(pipe?.name ?? ''),
      read_bytes: readBytes,
      written_rows: rows,
      written_rows_quarantine: quarantinedRows,
    })
  }

  block(record: BlockRecord): void {
    this.#write('block_log', {
      timestamp: seconds(record.atMs),
      import_id: record.importId,
      job_id: record.jobId,
      request_id: record.requestId,
      source: record.source,
      block_id: record.blockId,
      status: record.status,
      ...this.#source(record.dataSource),
      rows: record.rows,
      parser: record.parser,
      quarantine_lines: record.quarantinedLines,
      empty_lines: record.emptyLines,
      bytes: record.bytes,
      processing_time: record.elapsedMs / 1000,
    })
  }

  job({ id, kind, status, subject, error, details, ...times }: JobRecord): void {
    const { createdAtMs, updatedAtMs, startedAtMs } = times
    const isOfPipe = subject?.kind === 'pipe'
    this.#write('jobs_log', {
      job_id: id,
      job_type: kind,
      pipe_id: this.#name(isOfPipe ? subject.id : textIn(details, 'pipeId')),
      pipe_name: this.#name(isOfPipe ? subject.name : textIn(details, 'pipeName')),
      created_at: seconds(createdAtMs),
      updated_at: seconds(updatedAtMs),
      started_at: seconds(startedAtMs ?? 0),
      status,
      error: error === null ? '' : this.#clean(error, errorCharsMax),
      job_metadata: this.#metadata(isOfPipe ? details : { ...details, ...sourceFields(subject) }),
    })
  }

  storage({ atMs, dataSource, rows, bytes, quarantinedRows, quarantinedBytes }: StorageRecord): void {
    this.#write('datasources_storage', {
      timestamp: seconds(atMs),
      datasource_id: dataSource.id,
      datasource_name: dataSource.name,
      bytes,
      rows,
      bytes_quarantine: quarantinedBytes,
      rows_quarantine: quarantinedRows,
    })
  }

  token({ atMs, action, token, editorId, editorName, changedFields, scopes }: TokenRecord): void {
    this.#write('tokens_log', {
      timestamp: seconds(atMs),
      event_type: action,
      token: token.id,
      token_name: this.#name(token.name),
      editor: editorId ?? '',
      editor_name: this.#name(editorName),
      changed_fields: changedFields,
      scopes: scopes.map((scope) => this.#clean(scope, valueCharsMax)),
    })
  }

  limit({ atMs, limit, code, status, requestId, tokenId, tokenName, resource }: LimitRecord): void {
    this.#write('limits_log', {
      timestamp: seconds(atMs),
      limit_name: limit,
      error_code: code,
      status_code: status,
      request_id: requestId,
      token: tokenId ?? '',
      token_name: this.#name(tokenName ?? ''),
      resource: this.#name(resource ?? ''),
    })
  }

  #write(table: ServiceTableName, row: Readonly<Record<string, unknown>>): void {
    this.#writer.add(table, rowLine(table, row))
  }

  /** What is too long to be kept is left out as a whole: half of it could not be read. */
  #metadata(details: Readonly<Record<string, unknown>>): string {
    const text = JSON.stringify(Object.fromEntries(Object.entries(details).filter(isPlainDetail)))
    const cleaned = this.#secrets.cleanValue(text)
    return cleaned === text && text.length <= metadataCharsMax ? text : '{}'
  }

  #parameters(given: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
    const told = new Map<string, string>()
    let count = 0
    for (const name in given) {
      if (name === 'token') continue
      count += 1
      if (count > parametersMax) break
      const value = given[name]
      const text = Array.isArray(value) ? value.join(',') : String(value)
      told.set(this.#clean(name, nameCharsMax), isSecretName(name) ? redactedText : this.#clean(text, valueCharsMax))
    }
    return Object.fromEntries(told)
  }

  /** Names come from callers too, and a token may stand where one belongs; those of resources are shorter than what is kept. */
  #name(text: string): string {
    return this.#clean(text, resourceCharsMax)
  }

  #source({ id, name }: RecordedSource): { readonly datasource_id: string; readonly datasource_name: string } {
    return { datasource_id: this.#name(id), datasource_name: this.#name(name) }
  }

  #clean(text: string, charsMax: number): string {
    // What is not kept is not looked at, but for what a token across the cut is known by.
    return cutText(this.#secrets.cleanValue(cutText(text, charsMax + wordCharsMax)), charsMax)
  }
}

/** As the engine reads a DateTime. */
function seconds(atMs: number): number {
  return Math.floor(atMs / 1000)
}

function sourceFields(subject: JobRecord['subject']): Readonly<Record<string, string>> {
  return subject === null ? {} : { datasource_id: subject.id, datasource_name: subject.name }
}

function isPlainDetail([name, value]: readonly [string, unknown]): boolean {
  return plainDetails.has(name) || typeof value === 'number' || typeof value === 'boolean'
}

function textIn(details: Readonly<Record<string, unknown>>, name: string): string {
  const value = details[name]
  return typeof value === 'string' ? value : ''
}
