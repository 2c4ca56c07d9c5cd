/**
 * The footer of a Parquet file: how many rows its row groups have, where their bytes lie, and a footer for some of them.
 *
 * Read by hand, because the engine tells neither where a group lies nor reads a part of a file: a file of any size would be
 * one INSERT. The layout is `parquet.thrift` in Thrift's compact protocol; what is not needed is passed over.
 */
import { errors } from '../shared/errors.ts'
import { type ParquetLeaf, readSchema } from './parquet-schema.ts'
import { CompactReader, CompactType, StructWriter, varint } from './thrift-compact.ts'

export const parquetMagic = 'PAR1'
/** Behind the metadata: its length, and the magic. */
export const trailerBytes = 8
/** Metadata of so many columns and row groups that they are no file's. */
export const footerBytesMax = 16 * 1024 * 1024

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
  readonly metadata: Uint8Array
  readonly rowCount: number
  readonly rowGroups: readonly RowGroup[]
  readonly leaves: readonly ParquetLeaf[]
  readonly rowCountAt: ByteRange
  /** The header of the list of row groups. */
  readonly listAt: ByteRange
  readonly listEnd: number
}

/**
 * Reads the metadata of a file.
 *
 * @param dataEnd where the metadata begins in the file; pages end before.
 * @throws BODY_CORRUPT (400).
 */
export function readFooter(metadata: Uint8Array, dataEnd: number): ParquetFooter {
  try {
    return new FooterReader(metadata, dataEnd).read()
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
  private readonly reader: CompactReader
  private readonly metadata: Uint8Array
  private readonly dataEnd: number
  private rowCountAt: ByteRange | null = null
  private listAt: ByteRange | null = null
  private listEnd = 0
  private rowCount = 0
  private leaves: readonly ParquetLeaf[] | null = null
  private readonly rowGroups: RowGroup[] = []

  constructor(metadata: Uint8Array, dataEnd: number) {
    this.metadata = metadata
    this.dataEnd = dataEnd
    this.reader = new CompactReader(metadata)
  }

  read(): ParquetFooter {
    const { reader, metadata, rowGroups } = this
    reader.readStruct((field, type) => {
      if (field === 2 && type === CompactType.list) this.leaves = readSchema(reader)
      else if (field === 3 && type === CompactType.i64) this.readRowCount()
      else if (field === 4 && type === CompactType.list) this.readRowGroups()
      else return false
      return true
    })
    const { rowCountAt, listAt, listEnd, rowCount, leaves } = this
    if (rowCountAt === null || listAt === null) throw parquetFault('its metadata has no row groups')
    if (leaves === null) throw parquetFault('its metadata has no schema')
    for (const group of rowGroups) checkGroup(group, leaves)
    const groupRows = rowGroups.reduce((total, group) => total + group.rowCount, 0)
    if (groupRows !== rowCount) throw parquetFault(`it says ${rowCount} rows, and its row groups have ${groupRows}`)
    return { metadata, rowCount, rowGroups, leaves, rowCountAt, listAt, listEnd }
  }

  private readRowCount(): void {
    const start = this.reader.offset
    this.rowCount = this.reader.readInteger()
    this.rowCountAt = { start, end: this.reader.offset }
  }

  private readRowGroups(): void {
    const start = this.reader.offset
    const { count } = this.reader.readListHeader()
    this.listAt = { start, end: this.reader.offset }
    for (let index = 0; index < count; index += 1) this.rowGroups.push(this.readRowGroup())
    this.listEnd = this.reader.offset
  }

  private readRowGroup(): RowGroup {
    const chunks: ColumnChunk[] = []
    let rowCount = 0
    let byteCount = 0
    const described = this.copyStruct((field, type) => {
      if (field === 1 && type === CompactType.list) return this.readColumnChunks(chunks)
      if (field === 2) byteCount = this.reader.readInteger()
      else if (field === 3) rowCount = this.reader.readInteger()
      else return false
      return true
    })
    if (rowCount < 0 || byteCount < 0) throw parquetFault('a row group has a size below 0')
    return { rowCount, byteCount, ranges: joinedRanges(chunks), chunks, described }
  }

  private readColumnChunks(chunks: ColumnChunk[]): Uint8Array {
    const { reader, metadata } = this
    const start = reader.offset
    const { count } = reader.readListHeader()
    const pieces = [metadata.subarray(start, reader.offset)]
    for (let index = 0; index < count; index += 1) pieces.push(this.readColumnChunk(chunks))
    return Buffer.concat(pieces)
  }

  private readColumnChunk(chunks: ColumnChunk[]): Uint8Array {
    const chunksBefore = chunks.length
    const described = this.copyStruct((field, type) => {
      if (field === 1) throw parquetFault('its columns lie in other files')
      if (field === 8 || field === 9) throw parquetFault('it is encrypted')
      // Behind the metadata of a column come the places of its indexes.
      if (field !== 3 || type !== CompactType.struct) return field > 3 ? null : false
      return this.readColumnMetadata(chunks)
    })
    if (chunks.length === chunksBefore) throw parquetFault('a column has no metadata')
    return described
  }

  private readColumnMetadata(chunks: ColumnChunk[]): Uint8Array {
    const { reader } = this
    let byteCount = 0
    let codec = 0
    let valueCount = 0
    let start = Number.POSITIVE_INFINITY
    const described = this.copyStruct((field) => {
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
    const end = start + byteCount
    if (!(start >= parquetMagic.length && byteCount >= 0 && end <= this.dataEnd)) {
      throw parquetFault('its metadata points outside of it')
    }
    chunks.push({ start, end, codec, valueCount })
    return described
  }

  /**
   * Reads a structure and gives it as it is to stand in other metadata. `read` gives true for a field that it has read,
   * false for one that is passed over, null for one that is left out, or the bytes that take the place of its value.
   */
  private copyStruct(read: (field: number, type: number) => Uint8Array | boolean | null): Uint8Array {
    const { reader, metadata } = this
    const writer = new StructWriter()
    reader.readStruct((field, type) => {
      const start = reader.offset
      const value = read(field, type)
      if (value === false || value === null) reader.skip(type)
      if (value === null) return true
      writer.add(field, type, value instanceof Uint8Array ? value : metadata.subarray(start, reader.offset))
      return true
    })
    return writer.end()
  }
}

function checkGroup({ chunks, rowCount }: RowGroup, leaves: readonly ParquetLeaf[]): void {
  if (chunks.length !== leaves.length)
    throw parquetFault(`its schema has ${leaves.length} columns, and a row group has ${chunks.length}`)
  for (const [index, { valueCount }] of chunks.entries()) {
    const leaf = leaves[index]
    if (leaf === undefined || (leaf.isRepeated ? valueCount >= 0 : valueCount === rowCount)) continue
    throw parquetFault(`the column ${leaf.name} has ${valueCount} values in a row group of ${rowCount} rows`)
  }
}

/** Neighbours as one; in the order of the file. */
function joinedRanges(ranges: readonly ByteRange[]): readonly ByteRange[] {
  const joined: ByteRange[] = []
  for (const range of [...ranges].sort((a, b) => a.start - b.start)) {
    const last = joined.at(-1)
    if (last !== undefined && range.start <= last.end) {
      joined[joined.length - 1] = { start: last.start, end: Math.max(last.end, range.end) }
    } else joined.push(range)
  }
  return joined
}
