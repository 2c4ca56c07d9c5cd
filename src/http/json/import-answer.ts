import type { FastifyReply } from 'fastify'
import type { ImportOutcome, RowCounts } from '../../ingest/ingest.types.ts'
import type { ApiError } from '../../shared/errors/errors.ts'
import { sendError, sendJson, toApiError } from './answers.ts'
import { quarantineText, warn } from './warnings.ts'

export interface ImportAnswer {
  readonly importId: string
  /** The data source in the shape of a single resource. */
  readonly dataSource: { readonly name: string }
  /** Sentences about the request; those about its rows stand in the outcome. */
  readonly warnings: readonly string[]
  /** Null when there were no rows to import. */
  readonly outcome: ImportOutcome | null
  /** What is said of views that lack the rows. */
  readonly behind?: object
  /** The message of a failure as the caller may be told it. */
  readonly toldFailure: (error: ApiError) => string
}

const noCounts: RowCounts = { storedRows: 0, quarantinedRows: 0, invalidLines: 0, shortLines: 0 }

interface AnswerBody {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
  /** What the body failed with. */
  readonly failure: ApiError | null
}

/**
 * The import result. Bad rows are 200 with a text in `error`; a body that failed in its middle has the status of its
 * failure, and says in `imported_rows` how many rows stayed.
 *
 * @param details what `debug` asked for.
 */
export function importAnswerOf(
  { importId, dataSource, warnings, outcome, behind = {}, toldFailure }: ImportAnswer,
  details: object,
): AnswerBody {
  const counts = outcome ?? noCounts
  const result = {
    id: importId,
    import_id: importId,
    datasource: dataSource,
    quarantine_rows: counts.quarantinedRows,
    invalid_lines: counts.invalidLines,
    imported_rows: counts.storedRows,
    ...(counts.unmatchedRows === undefined ? {} : { unmatched_rows: counts.unmatchedRows }),
    ...warningsOf([...warnings, ...(outcome?.warnings ?? [])]),
    ...behind,
    ...details,
  }
  const failure = outcome?.failure ?? null
  if (failure === null) return { status: 200, body: { ...result, error: contentsError(counts) }, failure }
  const error = toApiError(failure)
  return { status: error.status, body: { ...error.body(), error: toldFailure(error), ...result }, failure: error }
}

/** Answers with the import result. */
export function sendImport(reply: FastifyReply, answer: ImportAnswer, details: object): FastifyReply {
  const failure = answer.outcome?.failure ?? null
  const { status, body } = importAnswerOf(answer, details)
  const rows = answer.outcome?.quarantinedRows ?? 0
  if (rows > 0) warn(reply, [quarantineText(rows, answer.dataSource.name)])
  return failure === null ? sendJson(reply, status, body) : sendError(reply, toApiError(failure), body)
}

/** Absent where there is nothing to be warned of: some clients know the fields of an answer exactly. */
function warningsOf(warnings: readonly string[]): { readonly warnings?: readonly string[] } {
  return warnings.length === 0 ? {} : { warnings }
}

/** `false`, or the sentence that clients compare word by word. */
function contentsError({ quarantinedRows, invalidLines }: RowCounts): string | false {
  if (quarantinedRows === 0 && invalidLines === 0) return false
  const rows = `${quarantinedRows} ${quarantinedRows === 1 ? 'row' : 'rows'} in quarantine`
  const lines = `${invalidLines} invalid ${invalidLines === 1 ? 'line' : 'lines'}`
  return `There was an error with file contents: ${rows} and ${lines}.`
}
