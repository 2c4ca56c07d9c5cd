// Finds out what a `POST /v0/datasources` carries: parameters may be in the query, in a form and in fields of a multipart
// form, in any mix; rows may be the body or a file of a multipart form.

import { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import { errors } from '../../shared/errors/errors.ts'
import type { FormLimits } from '../http.types.ts'
import { formatOfName } from '../import-packing.ts'
import { parseContentEncoding } from './content-encoding.ts'
import { type Field, type FormFile, type MultipartLimits, openMultipart } from './multipart-form.ts'
import { Parameters } from './parameters.ts'
import { peekBody } from './peek-body.ts'
import { ArrivingBody, announcesBody, bodyOf, type RequestBody, readWhole } from './request-body.ts'
import { parseForm } from './whole-form.ts'

export interface ImportInput {
  readonly parameters: Parameters
  readonly rows: InputRows | null
  /** Reads what stands behind the rows; raises what is wrong with it. */
  readonly end: () => Promise<void>
}

export interface InputRows {
  readonly body: Readable
  /** `gzip`, `zstd`, or undefined for plain bytes. */
  readonly contentEncoding: string | undefined
  /** By the file's name, or the header Content-Type; for when no parameter says it. */
  readonly format: string | null
  /** Whether they are the file of a form. */
  readonly isFile: boolean
  /** By the name of a form's field, which is not to be trusted: one client calls every field `csv`. */
  readonly fieldFormat: string | null
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
  if (body === undefined || !announcesBody(request.headers)) return { parameters, rows: null, end: noRest }
  const mediaType = request.sentContentType?.trim().toLowerCase() ?? ''
  if (mediaType.startsWith('multipart/form-data')) {
    return await readMultipart(body, request.sentContentType ?? '', context)
  }
  const encoding = parseContentEncoding(request.headers['content-encoding'])
  const contentEncoding = encoding === 'identity' ? undefined : encoding
  const format = /ndjson|jsonl|jsonlines/.test(mediaType) ? 'ndjson' : null
  const isJson = mediaType.startsWith('application/json') && contentEncoding === undefined
  if (isJson && parameters.get('name') === undefined) return await readJsonOrRows(body, parameters)
  const mayBeForm = mediaType === '' || mediaType.startsWith('application/x-www-form-urlencoded')
  if (!mayBeForm || contentEncoding !== undefined) {
    return { parameters, rows: { body, contentEncoding, format, isFile: false, fieldFormat: null }, end: noRest }
  }
  return await readFormOrRows(request, body, context)
}

const noRest = async (): Promise<void> => {}

interface ReadContext extends MultipartLimits {
  readonly parameters: Parameters
}

async function readMultipart(body: RequestBody, mediaType: string, context: ReadContext): Promise<ImportInput> {
  const { parameters } = context
  const form = await openMultipart(body, mediaType, context)
  for (const [name, value] of form.fields) parameters.set(name, value)
  return {
    parameters,
    rows: form.file === null ? null : rowsOf(form.file),
    async end() {
      for (const [name, value] of await form.end()) {
        if (isParameter(name) && parameters.get(name) !== value) throw errors.PARAMETER_LATE({ parameter: name })
      }
    },
  }
}

export const formatFields = ['csv', 'ndjson', 'parquet']

function rowsOf({ body, fileName, field }: FormFile): InputRows {
  const fieldFormat = formatFields.includes(field) ? field : null
  return { body, contentEncoding: undefined, format: formatOfName(fileName), isFile: true, fieldFormat }
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
async function readJsonOrRows(body: RequestBody, parameters: Parameters): Promise<ImportInput> {
  const peeked = await peekBody(body, jsonFormBytesMax)
  const fields = peeked.isWhole ? parameterFields(peeked.head.toString()) : null
  if (fields === null) {
    const rows = { body: peeked.body, contentEncoding: undefined, format: null, isFile: false, fieldFormat: null }
    return { parameters, rows, end: noRest }
  }
  for (const [name, value] of fields) parameters.set(name, value)
  return { parameters, rows: null, end: noRest }
}

const jsonFormBytesMax = 256 * 1024

function parameterFields(text: string): readonly Field[] | null {
  if (!text.trimStart().startsWith('{')) return null
  try {
    const fields = Object.entries(JSON.parse(text) as object)
    const isForm = fields.every(([name, value]) => isParameter(name) && (value === null || typeof value !== 'object'))
    return isForm ? fields.flatMap(([name, value]) => (value === null ? [] : [[name, String(value)] as const])) : null
  } catch {
    // Several lines of JSON, or none.
    return null
  }
}

async function readFormOrRows(request: FastifyRequest, body: RequestBody, context: ReadContext): Promise<ImportInput> {
  const { parameters, formBytesMax: bytesMax, hold } = context
  const peeked = await peekBody(body, formStartBytes)
  // With `=` between the fields of a CSV file its header looks like a form.
  const isForm = beginsAsForm(peeked.head) && parameters.get('dialect_delimiter') !== '='
  if (!isForm) {
    const text = peeked.isWhole ? peeked.head.toString() : ''
    if (fileName.test(text)) throw errors.FILE_NAME_SENT({ name: text.replace(/^@/, '') })
    const rows = { body: peeked.body, contentEncoding: undefined, format: null, isFile: false, fieldFormat: null }
    return { parameters, rows, end: noRest }
  }
  const form = new ArrivingBody(peeked.body, { idleMsMax: 0, onFirstRead: () => {} })
  const text = await readWhole(form, { headers: request.headers, bytesMax, onBytes: hold.take })
  const fields = parseForm(text.toString().trim())
  for (const [name, value] of fields) if (!formatFields.includes(name)) parameters.set(name, value)
  return { parameters, rows: fieldRows(fields), end: noRest }
}

/** Rows that are a field of the form, as a small file is one of a multipart form. @throws REQUEST_INVALID (400). */
function fieldRows(fields: readonly Field[]): InputRows | null {
  const [field, another] = fields.filter(([name]) => formatFields.includes(name))
  if (field === undefined) return null
  const [fieldFormat, text] = field
  if (another !== undefined)
    throw errors.REQUEST_INVALID({ reason: 'a form may have one field with rows, and it has more' })
  // An & in rows that are not encoded ends them.
  const [unknown] = fields.find(([name]) => name !== fieldFormat && !isParameter(name)) ?? []
  if (unknown !== undefined) {
    const advice = 'send the rows as the body, or encode them (curl --data-urlencode)'
    throw errors.REQUEST_INVALID({
      reason: `the form has a field "${unknown.slice(0, 50)}", which is no parameter; ${advice}`,
    })
  }
  return {
    body: Readable.from([Buffer.from(text)]),
    contentEncoding: undefined,
    format: null,
    isFile: true,
    fieldFormat,
  }
}
