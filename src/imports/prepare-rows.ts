/** Rows on their way into a data source: what they are, whether one can be made for them, and their loading. */
import type { DataSource } from '../catalog/data-source.types.ts'
import type { CreateRequest } from '../datasources/datasources.types.ts'
import type {
  BodyFormat,
  CsvRules,
  ImportFormat,
  ImportOutcome,
  ImportRequest,
  Ingest,
} from '../ingest/ingest.types.ts'
import { ApiError, errors } from '../shared/errors/errors.ts'
import { guessRows } from './guess-rows.ts'
import type { ImportOrder, ImportSource } from './imports.types.ts'
import { type RecognisedRows, recogniseRows } from './recognise-rows.ts'

/** What is given to the rows when their data source stands. */
export type LoadRequest = Pick<ImportRequest, 'dataSource' | 'importId' | 'ledger' | 'signal' | 'tables' | 'watcher'>

export interface PreparedRows {
  /** What a data source for the rows is created with; null where neither they nor the order say it. */
  readonly creation: Pick<CreateRequest, 'schema' | 'type'> | null
  readonly format: ImportFormat
  /** How they are read as rows of this data source; of Parquet it says nothing. */
  csvFor(dataSource: DataSource): CsvRules
  load(request: LoadRequest): Promise<ImportOutcome>
  /** Gives back what the rows held; may be called whether or not they were loaded. */
  close(): Promise<void>
}

export interface Preparation {
  readonly order: ImportOrder
  /** True when a data source is to be created for them. */
  readonly isNew: boolean
  readonly ingest: Pick<Ingest, 'importBody' | 'importParquet' | 'openBody' | 'openParquet'>
  readonly columnsMax: number
  /** Ends the reading with its reason. */
  readonly signal: AbortSignal
  /** Told as soon as it is known what the rows are. */
  readonly onRecognised: (rows: RecognisedRows) => void
  /** Told when the columns are to be guessed. */
  readonly onGuessing: () => void
}

/**
 * Reads as much of the rows as their loading has to know before it begins: the beginning of CSV that is to be guessed, all
 * of a Parquet file.
 *
 * @throws SCHEMA_MISSING, FORMAT_UNSUPPORTED (400), and what the rows are refused for before anything is stored.
 */
export async function prepareRows(source: ImportSource, preparation: Preparation): Promise<PreparedRows> {
  const { order, isNew } = preparation
  const rows = await recogniseRows(source, order)
  preparation.onRecognised(rows)
  const { format } = rows
  const missing = order.mode === 'append' ? order.name : undefined
  if (isNew && order.schema === undefined && format !== 'csv') {
    const guessed = format === 'ndjson' ? await proposedSchema(rows, preparation) : undefined
    throw errors.SCHEMA_MISSING({ format, missing, guessed })
  }
  if (format === 'parquet') return await prepareParquet(source, rows, preparation)
  return isNew && order.schema === undefined
    ? await prepareGuessed({ ...rows, format }, preparation)
    : prepareKnown({ ...rows, format }, preparation)
}

/** What a refusal proposes; undefined where nothing can be told of the rows. */
async function proposedSchema(rows: RecognisedRows, preparation: Preparation): Promise<string | undefined> {
  const { order, ingest, columnsMax, signal } = preparation
  const { csv, hasTypes } = order
  try {
    const rules = { format: 'ndjson', csv, hasTypes, columnsMax } as const
    const { guess, opened } = await guessRows({ ...rows, signal }, rules, ingest)
    opened.close()
    return guess.schema.length > proposalCharsMax ? undefined : guess.schema
  } catch (error) {
    // The caller hears what he asked for and cannot have; that the rows are broken too is told when they are sent again.
    if (error instanceof ApiError && error.status < 500) return undefined
    throw error
  }
}

const proposalCharsMax = 4_000

type TextRows = RecognisedRows<BodyFormat>

/** Nothing is read before the loading begins. */
function prepareKnown({ body, contentEncoding, format }: TextRows, { order, ingest }: Preparation): PreparedRows {
  const { csv, schema } = order
  return {
    creation: schema === undefined ? null : { schema, type: format },
    format,
    csvFor: () => csv,
    load: (request) => ingest.importBody({ ...request, body, contentEncoding, format, csv }),
    async close() {},
  }
}

async function prepareGuessed(rows: TextRows, preparation: Preparation): Promise<PreparedRows> {
  const { order, ingest, columnsMax, signal, onGuessing } = preparation
  const { csv, hasTypes } = order
  const { format } = rows
  onGuessing()
  const guessed = await guessRows({ ...rows, signal }, { format, csv, hasTypes, columnsMax }, ingest)
  const csvOfOthers = { ...guessed.csv, header: csv.header ?? 'unknown' }
  // Somebody else may have created it meanwhile, with other columns: then a header has to be read by its names.
  const csvFor = (dataSource: DataSource): CsvRules =>
    hasColumns(dataSource, guessed.guess.columns) ? guessed.csv : csvOfOthers
  return {
    creation: { schema: guessed.guess.schema, type: format },
    format,
    csvFor,
    load: (request) => {
      const body = { body: guessed.opened, contentEncoding: undefined, format }
      return ingest.importBody({ ...request, ...body, csv: csvFor(request.dataSource) })
    },
    async close() {
      guessed.opened.close()
    },
  }
}

function hasColumns({ columns }: DataSource, guessed: readonly { readonly name: string }[]): boolean {
  return columns.length === guessed.length && columns.every(({ name }, index) => name === guessed[index]?.name)
}

/** All of the file is here before anything is begun, and what stands behind it too. */
async function prepareParquet(
  source: ImportSource,
  { body, contentEncoding }: RecognisedRows,
  { order, ingest, signal }: Preparation,
): Promise<PreparedRows> {
  const file = await ingest.openParquet({ body, contentEncoding, signal, untilReceived: () => source.end() })
  return {
    // Its columns have JSONPaths, as those of NDJSON.
    creation: order.schema === undefined ? null : { schema: order.schema, type: 'ndjson' },
    format: 'parquet',
    csvFor: () => order.csv,
    load: (request) => ingest.importParquet({ ...request, file }),
    close: () => file.close(),
  }
}
