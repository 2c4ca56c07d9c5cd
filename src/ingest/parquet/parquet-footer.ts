/**
 * The footer of a Parquet file: how many rows its row groups have, where their bytes lie, and a footer for some of them.
 *
 * Read by hand, because the engine tells neither where a group lies nor reads a part of a file: a file of any size would be
 * one INSERT. The layout is `parquet.thrift` in Thrift's compact protocol; what is not needed is passed over.
 */
import { errors } from '../../shared/errors/errors.ts'
import { inTimeSlices, type Pieces } from '../../shared/time-slices.ts'
import type { BytePatch } from './parquet-decimals.ts'
import { type ParquetLeaf, readSchema } from './parquet-schema.ts'
import { CompactReader, CompactType, StructWriter, varint } from './thrift-compact.ts'

export const parquetMagic = 'PAR1'
/** Behind the metadata: its length, and the magic. */
export const trailerBytes = 8
/** Metadata of so many columns and row groups that they are no file's. */
export const footerBytesMax = 16 * 1024 * 1024

/** A column in a row group: more of them than real metadata of that length describes. */
const chunksMax = 300_000
/** A page counts its values by 31 bits, and groups of more than one such page are nobody's. */
const groupRowsMax = 2 ** 31
const fileRowsMax = 1e11
/** Of a page's header, which says all of its fields. Behind it a run of any length can take two bytes. */
const pageHeaderBytesMin = 16
const pageValuesMax = 2 ** 31 - 1

export interface RowGroup {
  readonly rowCount: number
  /** Of its pages, unpacked. */
  readonly byteCount: number
  /** Where its bytes lie in the file. */
  readonly ranges: readonly ByteRange[]
  /** As the schema has its leaves. */
  readonly chunks: readonly ColumnChunk[]
  /** Its description in the metadata, without what it says of indexes and filters outside of it. */
  readonly described: Uint8Array
}

/** The pages of one column in a row group. */
export interface ColumnChunk extends ByteRange {
  readonly codec: number
  readonly valueCount: number
}

export interface ByteRange {
  readonly start: number
  readonly end: number
}

export interface ParquetFooter {
  /** With the patches. */
  readonly metadata: Uint8Array
  /** What it does not say in the file yet. */
  readonly patches: readonly BytePatch[]
  readonly rowCount: number
  readonly rowGroups: readonly RowGroup[]
  readonly leaves: readonly ParquetLeaf[]
  readonly rowCountAt: ByteRange
  /** The header of the list of row groups. */
  readonly listAt: ByteRange
  readonly listEnd: number
}

/**
 * Reads the metadata of a file, in time slices. What it says of rows and bytes is held against the bounds, its own parts,
 * and the length of the file: it comes from the sender, and loops go by it.
 *
 * @param metadata is changed where the engine would misread it.
 * @param dataEnd where the metadata begins in the file; pages end before.
 * @throws BODY_CORRUPT (400).
 */
export async function readFooter(metadata: Uint8Array, dataEnd: number): Promise<ParquetFooter> {
  try {
    return await inTimeSlices(new FooterReader(metadata, dataEnd).read())
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause
    throw parquetFault(`its metadata cannot be read (${cause.message})`, cause)
  }
}

export function parquetFault(reason: string, cause?: unknown): Error {
  return errors.BODY_CORRUPT({ format: 'Parquet file', reason, cause })
}

/** The metadata of a file that has `groups` alone, with its trailer: what such a file ends with. */
export function footerOf(footer: ParquetFooter, groups: readonly RowGroup[]): Buffer {
  const { metadata, rowCountAt, listAt, listEnd } = footer
  const rowCount = groups.reduce((total, group) => total + group.rowCount, 0)
  const pieces = [
    metadata.subarray(0, rowCountAt.start),
    varint(2 * rowCount),
    metadata.subarray(rowCountAt.end, listAt.start),
    listHeader(groups.length),
    ...groups.map(({ described }) => described),
    metadata.subarray(listEnd),
  ]
  const trailer = Buffer.alloc(trailerBytes)
  trailer.writeUInt32LE(pieces.reduce((total, { length }) => total + length, 0))
  trailer.write(parquetMagic, 4, 'latin1')
  return Buffer.concat([...pieces, trailer])
}

function listHeader(count: number): Uint8Array {
  if (count < 15) return Uint8Array.of((count << 4) | CompactType.struct)
  return Buffer.concat([Uint8Array.of(0xf0 | CompactType.struct), varint(count)])
}

class FooterReader {
  readonly #reader: CompactReader
  readonly #metadata: Uint8Array
  readonly #dataEnd: number
  #rowCountAt: ByteRange | null = null
  #listAt: ByteRange | null = null
  #listEnd = 0
  #rowCount = 0
  #leaves: readonly ParquetLeaf[] | null = null
  #patches: readonly BytePatch[] = []
  /** Of all row groups together. */
  #chunkCount = 0
  #chunkBytes = 0
  readonly #rowGroups: RowGroup[] = []

  constructor(metadata: Uint8Array, dataEnd: number) {
    this.#metadata = metadata
    this.#dataEnd = dataEnd
    this.#reader = new CompactReader(metadata)
  }

  *read(): Pieces<ParquetFooter> {
    const reader = this.#reader
    const metadata = this.#metadata
    const rowGroups = this.#rowGroups
    yield* reader.readStruct((field, type) => {
      if (field === 2 && type === CompactType.list) return this.#readSchema()
      if (field === 3 && type === CompactType.i64) return this.#readRowCount()
      return field === 4 && type === CompactType.list ? this.#readRowGroups() : false
    })
    const rowCountAt = this.#rowCountAt
    const listAt = this.#listAt
    const listEnd = this.#listEnd
    const rowCount = this.#rowCount
    const leaves = this.#leaves
    if (rowCountAt === null || listAt === null) throw parquetFault('its metadata has no row groups')
    if (leaves === null) throw parquetFault('its metadata has no schema')
    if (rowCountAt.start > listAt.start) throw parquetFault('its metadata is not in its order')
    if (rowCount > fileRowsMax) throw parquetFault(`it says ${rowCount} rows, more than a file may have`)
    const groupRows = rowGroups.reduce((total, group) => total + group.rowCount, 0)
    if (groupRows !== rowCount) throw parquetFault(`it says ${rowCount} rows, and its row groups have ${groupRows}`)
    const patches = this.#patches
    for (const { offset, byte } of patches) metadata[offset] = byte
    return { metadata, patches, rowCount, rowGroups, leaves, rowCountAt, listAt, listEnd }
  }

  *#readSchema(): Pieces {
    const { leaves, patches } = yield* readSchema(this.#reader)
    this.#leaves = leaves
    this.#patches = patches
  }

  #readRowCount(): boolean {
    const start = this.#reader.offset
    this.#rowCount = this.#reader.readInteger()
    this.#rowCountAt = { start, end: this.#reader.offset }
    return true
  }

  *#readRowGroups(): Pieces {
    if (this.#listAt !== null) throw parquetFault('its metadata lists row groups twice')
    const start = this.#reader.offset
    const { count } = this.#reader.readListHeader()
    this.#listAt = { start, end: this.#reader.offset }
    for (let index = 0; index < count; index += 1) this.#rowGroups.push(yield* this.#readRowGroup())
    this.#listEnd = this.#reader.offset
  }

  *#readRowGroup(): Pieces<RowGroup> {
    const chunks: ColumnChunk[] = []
    let rowCount = 0
    let byteCount = 0
    const described = yield* this.#copyStruct((field, type) => {
      if (field === 1 && type === CompactType.list) return this.#readColumnChunks(chunks)
      if (field === 2) byteCount = this.#reader.readInteger()
      else if (field === 3) rowCount = this.#reader.readInteger()
      else return false
      return true
    })
    if (rowCount < 0 || byteCount < 0) throw parquetFault('a row group has a size below 0')
    if (this.#leaves === null) throw parquetFault('its metadata has no schema in front of its row groups')
    checkGroup({ chunks, rowCount }, this.#leaves)
    return { rowCount, byteCount, ranges: joinedRanges(chunks), chunks, described }
  }

  *#readColumnChunks(chunks: ColumnChunk[]): Pieces<Uint8Array> {
    const reader = this.#reader
    const metadata = this.#metadata
    const start = reader.offset
    const { count } = reader.readListHeader()
    this.#chunkCount += count
    if (this.#chunkCount > chunksMax) throw parquetFault(`its row groups have more than ${chunksMax} columns together`)
    const pieces = [metadata.subarray(start, reader.offset)]
    for (let index = 0; index < count; index += 1) pieces.push(yield* this.#readColumnChunk(chunks))
    return Buffer.concat(pieces)
  }

  *#readColumnChunk(chunks: ColumnChunk[]): Pieces<Uint8Array> {
    const countBefore = chunks.length
    const described = yield* this.#copyStruct((field, type) => {
      if (field === 1) throw parquetFault('its columns lie in other files')
      if (field === 8 || field === 9) throw parquetFault('it is encrypted')
      // Behind the metadata of a column come the places of its indexes.
      if (field !== 3 || type !== CompactType.struct) return field > 3 ? null : false
      return this.#readColumnMetadata(chunks)
    })
    if (chunks.length === countBefore) throw parquetFault('a column has no metadata')
    return described
  }

  *#readColumnMetadata(chunks: ColumnChunk[]): Pieces<Uint8Array> {
    const reader = this.#reader
    let byteCount = 0
    let codec = 0
    let valueCount = 0
    let start = Number.POSITIVE_INFINITY
    const described = yield* this.#copyStruct((field) => {
      if (field === 4) codec = reader.readInteger()
      else if (field === 5) valueCount = reader.readInteger()
      else if (field === 7) byteCount = reader.readInteger()
      else if (field === 9 || field === 11) {
        const offset = reader.readInteger()
        // Some writers give 0 for a dictionary that is not there.
        if (offset > 0) start = Math.min(start, offset)
      }
      // Statistics, and the place of a bloom filter.
      else return [8, 12, 14, 15, 16].includes(field) ? null : false
      return true
    })
    // Of a group without rows, which some writers make of a table without rows, the place is 0.
    if (byteCount === 0) start = parquetMagic.length
    const end = start + byteCount
    if (!(start >= parquetMagic.length && byteCount >= 0 && end <= this.#dataEnd)) {
      throw parquetFault('its metadata points outside of it')
    }
    // Each column of each row group has bytes of its own, so that what is copied of them is no more than the file.
    this.#chunkBytes += byteCount
    if (this.#chunkBytes > this.#dataEnd) throw parquetFault('its columns have more bytes than it')
    chunks.push({ start, end, codec, valueCount })
    return described
  }

  /**
   * Reads a structure and gives it as it is to stand in other metadata. `read` gives true for a field that it has read,
   * false for one that is passed over, null for one that is left out, or the work that gives what takes its place.
   */
  *#copyStruct(read: (field: number, type: number) => Pieces<Uint8Array> | boolean | null): Pieces<Uint8Array> {
    const reader = this.#reader
    const metadata = this.#metadata
    const writer = new StructWriter()
    for (let field = reader.nextField(0); field !== null; field = reader.nextField(field.number)) {
      const start = reader.offset
      const copied = read(field.number, field.type)
      if (copied === false || copied === null) yield* reader.skip(field.type)
      const value =
        typeof copied === 'object' && copied !== null ? yield* copied : metadata.subarray(start, reader.offset)
      if (copied !== null) writer.add(field, value)
      if (reader.isPauseDue()) yield
    }
    return writer.end()
  }
}

/** Dictionaries and runs make many rows of few bytes, so that only what no encoding can hold is refused. */
function checkGroup({ chunks, rowCount }: Pick<RowGroup, 'chunks' | 'rowCount'>, leaves: readonly ParquetLeaf[]): void {
  if (chunks.length !== leaves.length || chunks.length === 0)
    throw parquetFault(`its schema has ${leaves.length} columns, and a row group has ${chunks.length}`)
  if (rowCount > groupRowsMax) throw parquetFault(`a row group says ${rowCount} rows, and may have ${groupRowsMax}`)
  for (const [index, { valueCount, start, end }] of chunks.entries()) {
    const { name = '', isRepeated = false } = leaves[index] ?? {}
    // A row with an empty list counts as a value too.
    if (isRepeated ? valueCount < rowCount : valueCount !== rowCount) {
      throw parquetFault(`the column ${name} has ${valueCount} values in a row group of ${rowCount} rows`)
    }
    if (rowCount > Math.floor((end - start) / pageHeaderBytesMin) * pageValuesMax) {
      throw parquetFault(`the column ${name} has ${end - start} bytes in a row group of ${rowCount} rows`)
    }
  }
}

/** Those that touch as one; in the order of the file. */
export function joinedRanges(ranges: readonly ByteRange[]): readonly ByteRange[] {
  const joined: ByteRange[] = []
  for (const range of [...ranges].sort((a, b) => a.start - b.start)) {
    const last = joined.at(-1)
    if (last !== undefined && range.start <= last.end) {
      joined[joined.length - 1] = { start: last.start, end: Math.max(last.end, range.end) }
    } else joined.push(range)
  }
  return joined
}
