import { extname } from 'node:path'
import { pipeline, type Readable } from 'node:stream'
import { Busboy, type BusboyFileStream, type BusboyInstance } from '@fastify/busboy'
import { ApiError, errors } from '../shared/errors.ts'
import { ArrivingBody } from './request-body.ts'

/** A multipart form up to its first file; what stands behind that is read by `end`. */
export interface MultipartForm {
  /** The text fields before the file, or all of them when there is no file. */
  readonly fields: readonly (readonly [string, string])[]
  readonly file: FormFile | null
  /**
   * Reads the rest of the form, once the file is read.
   *
   * @throws what the form fails with, and REQUEST_INVALID (400) when there was a second file.
   */
  end(): Promise<void>
}

export interface FormFile {
  /** The file's bytes as they come; the form stops while nobody reads them. */
  readonly body: Readable
  /** `csv`, `ndjson` or another format by the file's name, else by the field's; null when neither says. */
  readonly format: string | null
}

const fieldsMax = 200
// Fields that hold data whether or not the client names a file.
const fileFields = ['csv', 'ndjson', 'parquet']

/**
 * Reads a form until its first file begins.
 *
 * @param formBytesMax most bytes of all text fields together.
 * @throws BODY_CORRUPT (400), PAYLOAD_TOO_LARGE (413), and what the body fails with.
 */
export async function openMultipart(body: Readable, mediaType: string, formBytesMax: number): Promise<MultipartForm> {
  const parser = createParser(mediaType, formBytesMax)
  const fields: (readonly [string, string])[] = []
  const files: BusboyFileStream[] = []
  let fieldBytes = 0
  const whole = new Promise<void>((resolve, reject) => {
    parser.on('field', (name, value, _isNameCut, isValueCut) => {
      fieldBytes += Buffer.byteLength(value)
      const isTooLarge = isValueCut || fieldBytes > formBytesMax || fields.length >= fieldsMax
      if (isTooLarge) reject(errors.PAYLOAD_TOO_LARGE({ bytesMax: formBytesMax }))
      else if (files.length === 0) fields.push([name, value])
    })
    pipeline(body, parser, (error) => {
      if (!error) {
        resolve()
        return
      }
      const reason = toFormError(error)
      reject(reason)
      // The parser leaves an unfinished file open, and its reader waiting.
      for (const file of files) file.destroy(reason)
    })
  })
  // It may fail before `end` is called, or without `end` being called at all.
  whole.catch(() => {})
  const file = await firstFile(parser, files, whole)
  return {
    fields,
    file,
    async end() {
      await whole
      if (files.length > 1) throw errors.REQUEST_INVALID({ reason: 'a form may have one file, and it has more' })
    },
  }
}

/** The first file when it begins, or null when the form ends without one; later files are counted and passed over. */
async function firstFile(
  parser: BusboyInstance,
  files: BusboyFileStream[],
  whole: Promise<void>,
): Promise<FormFile | null> {
  return await new Promise((resolve, reject) => {
    parser.on('file', (field, stream, fileName) => {
      stream.on('error', () => {})
      if (files.push(stream) === 1) resolve({ body: ownStream(stream), format: formatOf(field, fileName) })
      else stream.resume()
    })
    whole.then(() => resolve(null), reject)
  })
}

function createParser(mediaType: string, formBytesMax: number): BusboyInstance {
  const limits = {
    fieldSize: formBytesMax,
    fields: fieldsMax + 1,
    parts: 2 * fieldsMax,
    headerPairs: 50,
    headerSize: 16_384,
  }
  try {
    return new Busboy({
      headers: { 'content-type': mediaType },
      limits,
      isPartAFile: (field, type, fileName) =>
        fileName !== undefined || type === 'application/octet-stream' || fileFields.includes(field ?? ''),
    })
  } catch (cause) {
    throw toFormError(cause)
  }
}

/** A stream that fails with an error of the table when the form ends too early. */
function ownStream(stream: BusboyFileStream): Readable {
  return new ArrivingBody(stream, { idleMsMax: 0, onFirstRead: () => {} }).stream()
}

function toFormError(cause: unknown): Error {
  if (cause instanceof ApiError) return cause
  const reason = cause instanceof Error ? cause.message : String(cause)
  return errors.BODY_CORRUPT({ format: 'multipart form', reason, cause })
}

const formatsByExtension: Readonly<Record<string, string>> = {
  '.csv': 'csv',
  '.tsv': 'csv',
  '.ndjson': 'ndjson',
  '.jsonl': 'ndjson',
  '.json': 'ndjson',
  '.parquet': 'parquet',
}

// One client names the field `csv` whatever is in it, so the file's own name comes first.
function formatOf(field: string, fileName: string | undefined): string | null {
  const byExtension = formatsByExtension[extname(fileName ?? '').toLowerCase()]
  return byExtension ?? (fileFields.includes(field) ? field : null)
}
