// Finds out what a `POST /v0/datasources` carries: parameters may be in the query, in a form and in fields of a multipart
// form, in any mix; rows may be the body or a file of a multipart form.

import { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import { formatOfName } from '../../imports/first-bytes.ts'
import type { ImportSource } from '../../imports/imports.types.ts'
import { SourceBody } from '../../imports/source-body.ts'
import type { ImportFormat } from '../../ingest/ingest.types.ts'
import { beginningOf } from '../../shared/beginning-of.ts'
import { errors } from '../../shared/errors/errors.ts'
import { JoinedChunks } from '../../shared/joined-chunks.ts'
import type { FormLimits } from '../http.types.ts'
import { ChunkBudget } from './chunk-budget.ts'
import { asBuffer, parseContentEncoding } from './content-encoding.ts'
import { type Field, type FormFile, type MultipartLimits, openMultipart } from './multipart-form.ts'
import { Parameters } from './parameters.ts'
import { announcedBytes, announcesBody, bodyOf, type RequestBody } from './request-body.ts'
import { parseForm } from './whole-form.ts'

export interface ImportInput {
  readonly parameters: Parameters
  /** Unread; null where the request brings none. */
  readonly rows: ImportSource | null
}

/**
 * Reads the parameters, and leaves the rows unread.
 *
 * @throws BODY_CORRUPT, FIELDS_TOO_MANY (400), PAYLOAD_TOO_LARGE (413) for a form over `formBytesMax`,
 *   ENCODING_UNSUPPORTED (415), BODIES_TOO_MANY (503).
 */
export async function readImportInput(request: FastifyRequest, limits: FormLimits): Promise<ImportInput> {
  const parameters = new Parameters(request.query)
  request.sentParameters = () => parameters.names()
  const context = { parameters, formBytesMax: limits.formBytesMax, hold: limits.bodies.holdFor(request) }
  const body = bodyOf(request)
  if (body === undefined || !announcesBody(request.headers)) return { parameters, rows: null }
  const mediaType = request.sentContentType?.trim().toLowerCase() ?? ''
  if (mediaType.startsWith('multipart/form-data')) {
    return await readMultipart(body, request.sentContentType ?? '', context)
  }
  const encoding = parseContentEncoding(request.headers['content-encoding'])
  const contentEncoding = encoding === 'identity' ? undefined : encoding
  const format = /ndjson|jsonl|jsonlines/.test(mediaType) ? 'ndjson' : null
  const isJson = mediaType.startsWith('application/json') && contentEncoding === undefined
  const source = new SourceBody(body)
  if (isJson && parameters.get('name') === undefined) return await readJsonOrRows(source, parameters)
  const mayBeForm = mediaType === '' || mediaType.startsWith('application/x-www-form-urlencoded')
  if (!mayBeForm || contentEncoding !== undefined) {
    return { parameters, rows: { ...plainRows(source), contentEncoding, format } }
  }
  return await readFormOrRows(source, announcedBytes(request.headers) ?? 0, context)
}

/** Rows that are the body itself, of which nothing is known. */
function plainRows(body: SourceBody): ImportSource {
  return { body, contentEncoding: undefined, format: null, isFile: false, fieldFormat: null, async end() {} }
}

interface ReadContext extends MultipartLimits {
  readonly parameters: Parameters
}

async function readMultipart(body: RequestBody, mediaType: string, context: ReadContext): Promise<ImportInput> {
  const { parameters } = context
  const form = await openMultipart(body, mediaType, context)
  for (const [name, value] of form.fields) parameters.set(name, value)
  const end = async (): Promise<void> => {
    for (const [name, value] of await form.end()) {
      if (isParameter(name) && parameters.get(name) !== value) throw errors.PARAMETER_LATE({ parameter: name })
    }
  }
  return { parameters, rows: form.file === null ? null : { ...rowsOf(form.file), end } }
}

const formats: readonly ImportFormat[] = ['csv', 'ndjson', 'parquet']
/** Fields of a form that hold rows. */
export const formatFields: readonly string[] = formats

function rowsOf({ body, fileName, field }: FormFile): ImportSource {
  return { ...plainRows(body), format: formatOfName(fileName), isFile: true, fieldFormat: formatOfField(field) }
}

function formatOfField(field: string): ImportFormat | null {
  return formats.find((format) => format === field) ?? null
}

// What a form can begin with. A client that sends rows with curl's `-d` or `--data-binary` sends them as a form too, by
// its default Content-Type, so that type says nothing: only a body that begins with one of these names is a form.
export const importParameters: readonly string[] = [
  ...['name', 'mode', 'schema', 'url', 'format', 'description', 'token', 'from', 'type_guessing', 'progress', 'dry'],
  ...['debug', 'replace_condition', 'indexes', 'tags', 'cli_version', 'engine', 'version'],
]
const parameterName = new RegExp(`^(?:${importParameters.join('|')}|engine_\\w+|kafka_\\w+|dialect_\\w+|__tb__\\w+)$`)
const formStartBytes = 256

/** What `curl -d rows.csv` sends in the place of `-d @rows.csv`, and what others than curl send of `@rows.csv`. */
const fileName =
  /^(?:[\w./\\~-]+\.(?:csv|tsv|ndjson|jsonl|json|parquet)|@[^\s@]+\.(?:csv|tsv|txt|log|xlsx?|ndjson|jsonl|json|parquet|zip))(?:\.(?:gz|zst|zip))?$/i

function isParameter(name: string): boolean {
  return parameterName.test(name)
}

function beginsAsForm(head: Buffer): boolean {
  const name = /^\s*(\w+)=/.exec(head.toString('latin1'))?.[1]
  return name !== undefined && (isParameter(name) || formatFields.includes(name))
}

/** A JSON object whose keys are parameters is a form of them; every other one is rows, which clients send by this type too. */
async function readJsonOrRows(body: SourceBody, parameters: Parameters): Promise<ImportInput> {
  const { bytes, isWhole } = await body.beginning(jsonFormBytesMax)
  const fields = isWhole ? parameterFields(bytes.toString()) : null
  if (fields === null) return { parameters, rows: plainRows(body) }
  for (const [name, value] of fields) parameters.set(name, value)
  return { parameters, rows: null }
}

const jsonFormBytesMax = 256 * 1024

function parameterFields(text: string): readonly Field[] | null {
  if (!text.trimStart().startsWith('{')) return null
  try {
    const fields = Object.entries(JSON.parse(text) as object).flatMap(repeated)
    const isForm = fields.every(([name, value]) => isParameter(name) && (value === null || typeof value !== 'object'))
    return isForm ? fields.flatMap(([name, value]) => (value === null ? [] : [[name, String(value)] as const])) : null
  } catch {
    // Several lines of JSON, or none.
    return null
  }
}

/** There may be several URLs, as in a query. */
function repeated([name, value]: readonly [string, unknown]): readonly (readonly [string, unknown])[] {
  return name === 'url' && Array.isArray(value) ? value.map((one: unknown) => [name, one]) : [[name, value]]
}

async function readFormOrRows(
  body: SourceBody,
  announcedBytes: number,
  { parameters, formBytesMax, hold }: ReadContext,
): Promise<ImportInput> {
  const { bytes, isWhole } = await body.beginning(formStartBytes)
  // With `=` between the fields of a CSV file its header looks like a form.
  const isForm = beginsAsForm(bytes) && parameters.get('dialect_delimiter') !== '='
  if (!isForm) {
    const text = isWhole ? bytes.toString() : ''
    if (fileName.test(text)) throw errors.FILE_NAME_SENT({ name: text.replace(/^@/, '') })
    return { parameters, rows: plainRows(body) }
  }
  if (announcedBytes > formBytesMax) throw errors.PAYLOAD_TOO_LARGE({ bytesMax: formBytesMax })
  const fields = parseForm((await readWholeForm(body, { formBytesMax, hold })).toString().trim())
  for (const [name, value] of fields) if (!formatFields.includes(name)) parameters.set(name, value)
  return { parameters, rows: fieldRows(fields) }
}

async function readWholeForm(body: SourceBody, { formBytesMax, hold }: MultipartLimits): Promise<Buffer> {
  const joined = new JoinedChunks()
  const chunks = new ChunkBudget()
  for await (const chunk of body) {
    if (joined.byteCount + chunk.length > formBytesMax) throw errors.PAYLOAD_TOO_LARGE({ bytesMax: formBytesMax })
    const refusal = chunks.take(chunk.length)
    if (refusal !== null) throw refusal
    hold.take(chunk.length)
    joined.push(asBuffer(chunk))
  }
  return joined.bytes()
}

/** Rows that are a field of the form, as a small file is one of a multipart form. @throws REQUEST_INVALID (400). */
function fieldRows(fields: readonly Field[]): ImportSource | null {
  const [field, another] = fields.filter(([name]) => formatFields.includes(name))
  if (field === undefined) return null
  const [name, text] = field
  if (another !== undefined) throw errors.REQUEST_INVALID({ reason: 'a form may have only one field with rows' })
  // An & in rows that are not encoded ends them.
  const [unknown] = fields.find(([other]) => other !== name && !isParameter(other)) ?? []
  if (unknown !== undefined) {
    const advice = 'send the rows as the body, or encode them (curl --data-urlencode)'
    throw errors.REQUEST_INVALID({
      reason: `the form has a field "${beginningOf(unknown, 50)}", which is not a parameter; ${advice}`,
    })
  }
  const body = new SourceBody(Readable.from([Buffer.from(text)]))
  return { ...plainRows(body), isFile: true, fieldFormat: formatOfField(name) }
}
