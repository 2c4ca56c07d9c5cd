import { cutText, redactedText, wordCharsMax } from '../observe/log-secrets.ts'
import { isSecretName } from '../observe/secret-names.ts'
import type {
  BlockRecord,
  JobRecord,
  LimitRecord,
  OperationRecord,
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

/** Those of them that are names of what the workspace has. */
const nameDetails: ReadonlySet<string> = new Set(['datasource_name', 'pipeName'])

type Secrets = Pick<RowSecrets, 'cleanName' | 'cleanOwnName' | 'cleanUrl' | 'cleanValue'>

/** Makes rows of what modules tell, without tokens and secrets, each field with a maximum. */
export class ServiceRecorder implements WorkRecorder {
  readonly isOn = true
  readonly #writer: Pick<RowWriter, 'add' | 'droppedCount' | 'wake'>
  readonly #secrets: Secrets
  readonly #totals: PipeTotals

  constructor(writer: Pick<RowWriter, 'add' | 'droppedCount' | 'wake'>, secrets: Secrets) {
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
    const told = { ...record, pipeId: this.#ownName(record.pipeId), pipeName: this.#ownName(record.pipeName) }
    const url = this.#url(record)
    const parameters = this.#parameters(record.parameters)
    const start_datetime = seconds(record.startedAtMs)
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
      token_name: record.isJwt ? this.#name(record.tokenName) : this.#ownName(record.tokenName),
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
    // One that was not made has the name that was asked for.
    const isOwn = dataSource.id !== '' && (error === null || eventType !== 'create')
    this.#write('datasources_ops_log', {
      timestamp: seconds(startedAtMs),
      event_type: eventType,
      datasource_id: this.#ownName(dataSource.id),
      datasource_name: isOwn ? this.#ownName(dataSource.name) : this.#name(dataSource.name),
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
      pipe_id: this.#ownName(pipe?.id ?? ''),
      pipe_name: this.#ownName(pipe?.name ?? ''),
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
      datasource_id: this.#ownName(record.dataSource.id),
      datasource_name: this.#ownName(record.dataSource.name),
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
      pipe_id: this.#ownName(isOfPipe ? subject.id : textIn(details, 'pipeId')),
      pipe_name: this.#ownName(isOfPipe ? subject.name : textIn(details, 'pipeName')),
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
      token_name: this.#ownName(token.name),
      editor: editorId ?? '',
      editor_name: editorId === null ? this.#name(editorName) : this.#ownName(editorName),
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
      token_name: tokenId === null ? this.#name(tokenName ?? '') : this.#ownName(tokenName ?? ''),
      resource: this.#name(resource ?? ''),
    })
  }

  #write(table: ServiceTableName, row: Readonly<Record<string, unknown>>): void {
    this.#writer.add(table, rowLine(table, row))
  }

  /** What is too long to be kept is left out as a whole: half of it could not be read. */
  #metadata(details: Readonly<Record<string, unknown>>): string {
    const plain = Object.entries(details).filter(isPlainDetail)
    const text = JSON.stringify(Object.fromEntries(plain))
    const sent = JSON.stringify(plain.filter(([name]) => !nameDetails.has(name)))
    const isClean = this.#secrets.cleanOwnName(text) === text && this.#secrets.cleanValue(sent) === sent
    return isClean && text.length <= metadataCharsMax ? text : '{}'
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
    return this.#kept(text, resourceCharsMax, (read) => this.#secrets.cleanName(read))
  }

  /** Of what the workspace has or had, which no caller makes up. */
  #ownName(text: string): string {
    return this.#kept(text, resourceCharsMax, (read) => this.#secrets.cleanOwnName(read))
  }

  /** A path that led to a pipe has its name, or its id. */
  #url({ url, pipeName, pipeId }: RequestRecord): string {
    return this.#kept(url, urlCharsMax, (read) => this.#secrets.cleanUrl(read, [pipeName, pipeId]))
  }

  #clean(text: string, charsMax: number): string {
    return this.#kept(text, charsMax, (read) => this.#secrets.cleanValue(read))
  }

  #kept(text: string, charsMax: number, clean: (read: string) => string): string {
    // What is not kept is not looked at, but for what a token across the cut is known by.
    return cutText(clean(cutText(text, charsMax + wordCharsMax)), charsMax)
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
