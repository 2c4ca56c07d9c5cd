// Files that hold no rows that are read here, told by how they begin: what they are, and what becomes a table of them.

export interface ForeignFile {
  /** As a sentence calls it: `an Arrow file`. */
  readonly what: string
  /** What to do instead. */
  readonly advice: string
  /** Whether it is text, which a column may hold too where somebody says that it is CSV. */
  readonly isText: boolean
}

interface Mark {
  readonly what: string
  readonly advice: string
  readonly isAt: (head: Buffer) => boolean
}

const asParquet = 'write it as Parquet, CSV or NDJSON'
interface TextMark extends Omit<Mark, 'isAt'> {
  readonly isIn: (text: string) => boolean
}

const unpacked = 'send it uncompressed, or compressed with gzip or zstd'

const startsWith =
  (...bytes: readonly number[]) =>
  (head: Buffer): boolean =>
    head.length > bytes.length && bytes.every((byte, index) => head[index] === byte)

const startsWithText = (text: string, next: (byte: number) => boolean = () => true) => {
  const isAt = startsWith(...Buffer.from(text, 'latin1'))
  return (head: Buffer): boolean => isAt(head) && next(head[text.length] ?? 0)
}

const isBinary = (byte: number): boolean => byte < 9

/** An Arrow stream: the length of a message behind a mark that no text begins with. */
const isArrowStream = (head: Buffer): boolean =>
  startsWith(0xff, 0xff, 0xff, 0xff)(head) && head.length >= 8 && head.readUInt32LE(4) < 64 * 1024 * 1024

const binaryMarks: readonly Mark[] = [
  { what: 'an Arrow file', advice: asParquet, isAt: startsWithText('ARROW1', isBinary) },
  { what: 'an Arrow stream', advice: asParquet, isAt: isArrowStream },
  { what: 'a Feather file', advice: asParquet, isAt: startsWithText('FEA1', isBinary) },
  { what: 'an ORC file', advice: asParquet, isAt: startsWithText('ORC', isBinary) },
  { what: 'an Avro file', advice: asParquet, isAt: startsWithText('Obj\u0001') },
  { what: 'an SQLite database', advice: 'export its tables as CSV', isAt: startsWithText('SQLite format 3\u0000') },
  { what: 'a picture', advice: 'send CSV, NDJSON or Parquet', isAt: startsWith(0x89, 0x50, 0x4e, 0x47) },
  { what: 'a picture', advice: 'send CSV, NDJSON or Parquet', isAt: startsWith(0xff, 0xd8, 0xff) },
  { what: 'a PDF', advice: 'send CSV, NDJSON or Parquet', isAt: startsWithText('%PDF-') },
  {
    what: 'an Excel workbook',
    advice: 'save each of its sheets as CSV',
    isAt: startsWith(0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1),
  },
  { what: 'a NumPy file', advice: asParquet, isAt: startsWith(0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59) },
  { what: 'compressed with xz', advice: unpacked, isAt: startsWith(0xfd, 0x37, 0x7a, 0x58, 0x5a, 0) },
  {
    what: 'compressed with bzip2',
    advice: unpacked,
    isAt: startsWithText('BZh', (byte) => byte >= 0x31 && byte <= 0x39),
  },
  { what: 'compressed with lz4', advice: unpacked, isAt: startsWith(4, 0x22, 0x4d, 0x18) },
  { what: 'a 7z archive', advice: unpacked, isAt: startsWith(0x37, 0x7a, 0xbc, 0xaf, 0x27, 0x1c) },
  { what: 'a rar archive', advice: unpacked, isAt: startsWithText('Rar!\u001a') },
  {
    what: 'a tar archive',
    advice: 'send each of its files separately',
    isAt: (head) => head.toString('latin1', 257, 262) === 'ustar',
  },
]

const textMarks: readonly TextMark[] = [
  {
    what: 'a page of HTML',
    advice: 'the address may have answered with a page or an error instead of the file',
    isIn: (text) => /^(?:<!doctype html|<html[\s>])/i.test(text),
  },
  { what: 'XML', advice: 'send CSV, NDJSON or Parquet', isIn: (text) => /^<\?xml\s/i.test(text) },
  {
    what: 'the text of a datafile',
    advice:
      'send the columns after "SCHEMA >" as the parameter schema, and its ENGINE lines as parameters such as engine=MergeTree',
    isIn: isDatafile,
  },
  {
    what: 'a script of SQL',
    advice: 'send the rows as CSV, NDJSON or Parquet, and the columns as the parameter schema',
    isIn: (text) => /^(?:INSERT +INTO|CREATE +TABLE) +[\w.`"]+ *(?:\(|VALUES)/i.test(text),
  },
]

/** What may stand in front of the columns: descriptions with their texts, tokens, comments. */
const beforeSchema = /^(?:DESCRIPTION|TOKEN|VERSION|TAGS|SHARED_WITH)\b|^\s|^#|^$/i

/** Whether the text, as far as it is here, is that of a data source. */
export function isDatafile(text: string): boolean {
  const line = text.split('\n').find((one) => /^SCHEMA\s*>/i.test(one.trimStart()) || !beforeSchema.test(one))
  return line !== undefined && /^\s*SCHEMA\s*>/i.test(line)
}

/** Bytes in which a text tells what it is: patterns look at no more. */
const textBytes = 512

/** What a body is that holds no rows; null for what may be a table. */
export function foreignFile(head: Buffer): ForeignFile | null {
  const binary = binaryMarks.find(({ isAt }) => isAt(head))
  if (binary !== undefined) return { what: binary.what, advice: binary.advice, isText: false }
  const text = head
    .toString('utf8', 0, textBytes)
    .replace(/^\uFEFF/, '')
    .trimStart()
  const found = textMarks.find(({ isIn }) => isIn(text))
  return found === undefined ? null : { what: found.what, advice: found.advice, isText: true }
}

/** A zip archive that is a document: its first member is this one. */
export const officeMember = '[Content_Types].xml'

export const officeFile: ForeignFile = {
  what: 'an Excel workbook or another Office document',
  advice: 'save each sheet as CSV',
  isText: false,
}

export const packedTwice: ForeignFile = {
  what: 'compressed twice',
  advice: 'decompress it once, and send no Content-Encoding for a file that is compressed already',
  isText: false,
}
