import { errors } from '../shared/errors/errors.ts'

const json = 'application/json; charset=UTF-8'
const ndjson = 'application/x-ndjson; charset=UTF-8'
const csv = 'text/csv; charset=UTF-8'
const csvWithHeader = 'text/csv; charset=UTF-8; header=present'
const tsv = 'text/tab-separated-values; charset=UTF-8'
const plain = 'text/plain; charset=UTF-8'

// ClickHouse's formats that a client may ask for, with the type of their answer. Formats that write to a place of their
// own, or need a schema file, are left out.
const contentTypes: ReadonlyMap<string, string> = new Map(
  Object.entries({
    JSON: json,
    JSONStrings: json,
    JSONCompact: json,
    JSONCompactStrings: json,
    JSONColumns: json,
    JSONCompactColumns: json,
    JSONColumnsWithMetadata: json,
    JSONObjectEachRow: json,
    JSONEachRow: ndjson,
    JSONStringsEachRow: ndjson,
    JSONCompactEachRow: ndjson,
    JSONCompactEachRowWithNames: ndjson,
    JSONCompactEachRowWithNamesAndTypes: ndjson,
    JSONCompactStringsEachRow: ndjson,
    JSONCompactStringsEachRowWithNames: ndjson,
    JSONCompactStringsEachRowWithNamesAndTypes: ndjson,
    PrettyJSONEachRow: ndjson,
    JSONLines: ndjson,
    NDJSON: ndjson,
    CSV: csv,
    CSVWithNames: csvWithHeader,
    CSVWithNamesAndTypes: csvWithHeader,
    TSV: tsv,
    TSVRaw: tsv,
    TSVWithNames: tsv,
    TSVWithNamesAndTypes: tsv,
    TabSeparated: tsv,
    TabSeparatedRaw: tsv,
    TabSeparatedWithNames: tsv,
    TabSeparatedWithNamesAndTypes: tsv,
    TSKV: plain,
    Values: plain,
    Pretty: plain,
    PrettyNoEscapes: plain,
    PrettyCompact: plain,
    PrettyCompactNoEscapes: plain,
    PrettyCompactMonoBlock: plain,
    PrettySpace: plain,
    PrettySpaceNoEscapes: plain,
    Vertical: plain,
    Markdown: 'text/markdown; charset=UTF-8',
    XML: 'application/xml; charset=UTF-8',
    Prometheus: 'text/plain; version=0.0.4; charset=UTF-8',
    Parquet: 'application/vnd.apache.parquet',
    Arrow: 'application/vnd.apache.arrow.file',
    ArrowStream: 'application/vnd.apache.arrow.stream',
    ORC: 'application/vnd.apache.orc',
    Avro: 'application/vnd.apache.avro',
    MsgPack: 'application/vnd.msgpack',
    RowBinary: 'application/octet-stream',
    RowBinaryWithNames: 'application/octet-stream',
    RowBinaryWithNamesAndTypes: 'application/octet-stream',
    Native: 'application/octet-stream',
  }),
)

// What the specification names; the error lists these, not the whole table.
const namedFormats = ['JSON', 'JSONEachRow', 'CSV', 'CSVWithNames', 'TSV', 'TSVWithNames', 'PrettyCompact', 'Parquet']

/** All of them, as the engine calls them. */
export const answerFormats: readonly string[] = [...contentTypes.keys()]

/** The endings under which the data of a pipe is found. */
export const endpointFormats = ['json', 'csv', 'ndjson', 'parquet', 'prometheus', 'arrow'] as const
export type EndpointFormat = (typeof endpointFormats)[number]

const formatsByEnding: ReadonlyMap<string, string> = new Map<EndpointFormat, string>([
  ['json', 'JSON'],
  ['csv', 'CSVWithNames'],
  ['ndjson', 'JSONEachRow'],
  ['parquet', 'Parquet'],
  ['prometheus', 'Prometheus'],
  ['arrow', 'Arrow'],
])

/** The engine's format by the ending of an endpoint, or by the name that a client gives; other names stay as they are. */
export function formatOfName(name: string): string {
  return formatsByEnding.get(name.toLowerCase()) ?? name
}

/** To the engine, `json` is `JSON`. */
const formatsByLowerCase: ReadonlyMap<string, string> = new Map(
  [...contentTypes.keys()].map((format) => [format.toLowerCase(), format]),
)

export interface AnswerFormat {
  readonly format: string
  readonly contentType: string
}

/**
 * The format of an answer by the name after FORMAT, in any case; null, no FORMAT at all, gives JSON.
 *
 * @throws FORMAT_UNSUPPORTED (400).
 */
export function answerFormat(name: string | null): AnswerFormat {
  const asked = name ?? 'JSON'
  const format = formatsByLowerCase.get(asked.toLowerCase()) ?? asked
  const contentType = contentTypes.get(format)
  if (contentType === undefined) throw errors.FORMAT_UNSUPPORTED({ format: asked, supported: namedFormats })
  return { format, contentType }
}
