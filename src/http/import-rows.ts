/** Rows on their way into a data source: what they are, whether one can be made for them, and their loading. */
import type { DataSource } from '../catalog/data-source.types.ts'
import type { CreateRequest } from '../datasources/datasources.types.ts'
import type { BodyFormat, ImportOutcome, ImportRequest, Ingest } from '../ingest/ingest.types.ts'
import { ApiError, errors } from '../shared/errors/errors.ts'
import { type KnownRows, knowRows } from './import-format.ts'
import { guessRows } from './import-guess.ts'
import type { ImportInput, InputRows } from './request/import-input.ts'
import type { ImportOrder } from './request/import-order.ts'

/** What is given to the rows when their data source stands. */
export type LoadRequest = Pick<ImportRequest, 'dataSource' | 'importId' | 'signal' | 'tables' | 'watcher'>

export interface PreparedRows {
  /** What a data source for the rows is created with. */
  readonly creation: Pick<CreateRequest, 'schema' | 'type'> | null
  load(request: LoadRequest): Promise<ImportOutcome>
  /** Gives back what the rows held; may be called whether or not they were loaded. */
  close(): Promise<void>
}

interface Preparation {
  readonly order: ImportOrder
  /** True when a data source is to be created for them. */
  readonly isNew: boolean
  readonly input: Pick<ImportInput, 'end'>
  readonly ingest: Ingest
  readonly progress: { readonly onGuessing: () => void }
  readonly columnsMax: number
  /** Ends the reading with its reason. */
  readonly signal: AbortSignal
  /** Told as soon as it is known what the rows are. */
  readonly onKnown: (known: KnownRows) => void
}

/**
 * Reads as much of the rows as their loading has to know before it begins: the beginning of CSV that is to be guessed, all
 * of a Parquet file.
 *
 * @throws SCHEMA_MISSING, FORMAT_UNSUPPORTED (400), and what the rows are refused for before anything is stored.
 */
export async function prepareRows(rows: InputRows, preparation: Preparation): Promise<PreparedRows> {
  const { order, isNew } = preparation
  const known = await knowRows(rows, order)
  preparation.onKnown(known)
  const { format } = known
  const missing = order.mode === 'append' ? order.name : undefined
  if (isNew && order.schema === undefined && format !== 'csv') {
    const guessed = format === 'ndjson' ? await guessedSchema(known, preparation) : undefined
    throw errors.SCHEMA_MISSING({ format, missing, guessed })
  }
  if (format === 'parquet') return await prepareParquet(known, preparation)
  return await prepareText({ ...known, format }, preparation)
}

/** What a refusal proposes; undefined where nothing can be told of the rows. */
async function guessedSchema(known: KnownRows, preparation: Preparation): Promise<string | undefined> {
  const { order, ingest, columnsMax, signal } = preparation
  const { csv, hasTypes } = order
  try {
    const rules = { format: 'ndjson', csv, hasTypes, columnsMax } as const
    const { guess, opened } = await guessRows({ ...known, signal }, rules, ingest)
    opened.close()
    return guess.schema.length > hintCharsMax ? undefined : guess.schema
  } catch (error) {
    // The caller hears what he asked for and cannot have; that the rows are broken too is told when they are sent again.
    if (error instanceof ApiError && error.status < 500) return undefined
    throw error
  }
}

const hintCharsMax = 4_000

async function prepareText(
  { body, contentEncoding, format }: KnownRows & { readonly format: BodyFormat },
  { order, isNew, ingest, progress, columnsMax, signal }: Preparation,
): Promise<PreparedRows> {
  const { csv, hasTypes, schema } = order
  const close = async (): Promise<void> => {}
  if (!isNew || schema !== undefined) {
    const creation = schema === undefined ? null : { schema, type: format }
    return {
      creation,
      load: (request) => ingest.importBody({ ...request, body, contentEncoding, format, csv }),
      close,
    }
  }
  progress.onGuessing()
  const guessed = await guessRows({ body, contentEncoding, signal }, { format, csv, hasTypes, columnsMax }, ingest)
  const rows = { body: guessed.opened, contentEncoding: undefined, format }
  const csvOfOthers = { ...guessed.csv, header: csv.header ?? 'unknown' }
  return {
    creation: { schema: guessed.guess.schema, type: format },
    load: (request) => {
      // Somebody else may have created it meanwhile, with other columns: then a header has to be read by its names.
      const isOurs = hasColumns(request.dataSource, guessed.guess.columns)
      return ingest.importBody({ ...request, ...rows, csv: isOurs ? guessed.csv : csvOfOthers })
    },
    async close() {
      guessed.opened.close()
    },
  }
}

function hasColumns({ columns }: DataSource, guessed: readonly { readonly name: string }[]): boolean {
  return columns.length === guessed.length && columns.every(({ name }, index) => name === guessed[index]?.name)
}

/** All of the file is here before anything is begun, and the rest of its form too. */
async function prepareParquet(
  { body, contentEncoding }: KnownRows,
  { order, input, ingest, signal }: Preparation,
): Promise<PreparedRows> {
  const file = await ingest.openParquet({ body, contentEncoding, signal, untilReceived: () => input.end() })
  return {
    // Its columns have JSONPaths, as those of NDJSON.
    creation: order.schema === undefined ? null : { schema: order.schema, type: 'ndjson' },
    load: (request) => ingest.importParquet({ ...request, file }),
    close: () => file.close(),
  }
}
