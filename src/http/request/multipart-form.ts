import { pipeline, type Readable } from 'node:stream'
import { Busboy, type BusboyFileStream, type BusboyInstance } from '@fastify/busboy'
import { SourceBody } from '../../imports/source-body.ts'
import { kibibyte, mebibyte } from '../../shared/bytes.ts'
import { ApiError, errors } from '../../shared/errors/errors.ts'
import type { BodyHold } from './request-hold.ts'

/** A multipart form up to its first file, and a little further; what stands behind that is read by `end`. */
export interface MultipartForm {
  /** The text fields before the file; all of them where the form has no file, or a small one. */
  readonly fields: readonly Field[]
  readonly file: FormFile | null
  /**
   * Reads the rest of the form, once the file is read, and gives the fields that came too late to be among `fields`.
   *
   * @throws what the form fails with, and REQUEST_INVALID (400) when there was a second file.
   */
  end(): Promise<readonly Field[]>
}

export type Field = readonly [name: string, value: string]

export interface FormFile {
  /** The file's bytes as they come; the form stops while nobody reads them. */
  readonly body: SourceBody
  /** Empty when the client gave none. */
  readonly fileName: string
  /** The name of its field. */
  readonly field: string
}

export interface MultipartLimits {
  /** Most bytes of all text fields together. */
  readonly formBytesMax: number
  /** Told of bytes that are held; what it throws ends the form. */
  readonly hold: BodyHold
}

const fieldsMax = 200
const partsMax = 2 * fieldsMax
// Fields that hold data whether or not the client names a file.
const fileFields = ['csv', 'ndjson', 'parquet']
/** The parser goes on so far ahead of whoever reads the file. */
const fileBytesAhead = 256 * kibibyte
/** A file of so many bytes is held until the form ends, so that fields behind it count too, as curl's users write them. */
const heldBytesMax = mebibyte

/**
 * Reads a form until its first file begins, and to its end when the file is small.
 *
 * @throws BODY_CORRUPT, REQUEST_INVALID (400), PAYLOAD_TOO_LARGE (413), BODIES_TOO_MANY (503), and what the body fails
 *   with.
 */
export async function openMultipart(
  body: Readable,
  mediaType: string,
  limits: MultipartLimits,
): Promise<MultipartForm> {
  const { formBytesMax, hold } = limits
  const parser = createParser(mediaType, formBytesMax)
  const fields: Field[] = []
  const files: BusboyFileStream[] = []
  const opening = { isOpen: false, fileBytes: 0 }
  const whole = readForm({ body, parser, fields, files, limits, opening })
  // It may fail before `end` is called, or without `end` being called at all.
  whole.catch(() => {})
  const file = await firstFile(parser, files, whole)
  if (file !== null) {
    // A file that ends within its beginning is followed by the rest of the form.
    const { isWhole } = await file.body.beginning(heldBytesMax)
    if (isWhole) await whole
  }
  opening.isOpen = true
  // Whoever reads the file goes on at once, and counts what he keeps.
  hold.give(opening.fileBytes)
  const knownCount = fields.length
  const refuseMore = (): void => {
    if (files.length > 1) throw errors.REQUEST_INVALID({ reason: 'a form may have only one file' })
  }
  refuseMore()
  return {
    fields: fields.slice(),
    file,
    async end() {
      await whole
      refuseMore()
      return fields.slice(knownCount)
    },
  }
}

/** The text fields that end within the first bytes of a form. @throws BODY_CORRUPT (400) when it has no boundary. */
export async function parseMultipartHead(head: Buffer, mediaType: string): Promise<readonly Field[]> {
  const parser = createParser(mediaType, head.length)
  const fields: Field[] = []
  parser.on('field', (name, value) => fields.push([name, value]))
  parser.on('file', (_field, stream) => {
    stream.on('error', () => {})
    stream.resume()
  })
  // What is wrong with the form is told when all of it is read.
  parser.on('error', () => {})
  await new Promise<void>((resolve) => {
    // Fields are told in the ticks behind the writing.
    parser.write(head, () => setImmediate(resolve))
  })
  return fields
}

interface ReadingForm {
  readonly body: Readable
  readonly parser: BusboyInstance
  readonly fields: Field[]
  readonly files: readonly BusboyFileStream[]
  readonly limits: MultipartLimits
  readonly opening: Opening
}

interface Opening {
  /** True when its beginning is read, and the rest is for the file's reader. */
  isOpen: boolean
  /** Bytes of the beginning from the chunk on in which a file began. */
  fileBytes: number
}

/** Resolves at the end of the form; gathers its fields. */
function readForm(reading: ReadingForm): Promise<void> {
  const { body, parser, fields, files } = reading
  const { formBytesMax } = reading.limits
  let fieldBytes = 0
  return new Promise<void>((resolve, reject) => {
    parser.on('field', (name, value, _isNameCut, isValueCut) => {
      fieldBytes += Buffer.byteLength(value)
      const isTooLarge = isValueCut || fieldBytes > formBytesMax || fields.length >= fieldsMax
      if (isTooLarge) reject(errors.PAYLOAD_TOO_LARGE({ bytesMax: formBytesMax }))
      else fields.push([name, value])
    })
    // The parser would pass over all that follow, and each costs more than its bytes.
    parser.on('partsLimit', () =>
      body.destroy(errors.REQUEST_INVALID({ reason: `its form has more than ${partsMax} parts` })),
    )
    countHeld(reading)
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
}

/** Counts the bytes of a form as long as they are kept: fields by the parser, a file by whoever looks at its beginning. */
function countHeld({ body, files, limits, opening }: ReadingForm): void {
  const count = (chunk: Buffer): void => {
    if (opening.isOpen) {
      body.off('data', count)
      return
    }
    try {
      limits.hold.take(chunk.length)
      if (files.length > 0) opening.fileBytes += chunk.length
    } catch (error) {
      // What a hold throws is an error of the table.
      body.destroy(error instanceof Error ? error : new Error(String(error)))
    }
  }
  body.on('data', count)
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
      if (files.push(stream) === 1) resolve({ body: fileBody(stream), fileName: fileName ?? '', field })
      else stream.resume()
    })
    whole.then(() => resolve(null), reject)
  })
}

function createParser(mediaType: string, formBytesMax: number): BusboyInstance {
  const limits = {
    fieldSize: formBytesMax,
    fields: fieldsMax + 1,
    parts: partsMax,
    headerPairs: 50,
    headerSize: 16_384,
  }
  try {
    return new Busboy({
      headers: { 'content-type': mediaType },
      limits,
      fileHwm: fileBytesAhead,
      isPartAFile: (field, type, fileName) =>
        fileName !== undefined || type === 'application/octet-stream' || fileFields.includes(field ?? ''),
    })
  } catch (cause) {
    throw toFormError(cause)
  }
}

/** The file as a body that fails with an error of the table when the form ends too early. */
function fileBody(stream: BusboyFileStream): SourceBody {
  let failure: Error | null = null
  // The parser's first word counts: behind it the stream is closed, which says no more than that.
  stream.on('error', (cause: unknown) => {
    failure ??= toFormError(cause)
  })
  return new SourceBody(stream, (cause) => failure ?? toFormError(cause))
}

function toFormError(cause: unknown): Error {
  if (cause instanceof ApiError) return cause
  const reason = cause instanceof Error ? cause.message : String(cause)
  return errors.BODY_CORRUPT({ format: 'multipart form', reason, cause })
}
