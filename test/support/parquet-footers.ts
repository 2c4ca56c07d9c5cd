/** Parquet files by hand, of real pages under metadata that says anything. One column `n Int64`, as it is, no dictionary. */

export interface SaidGroup {
  readonly rowCount: number
  /** Of its column; as many as rows where it is not given. */
  readonly valueCount?: number
  readonly byteCount?: number
  /** Where its page begins in the file; by itself behind that of the group before. */
  readonly pageAt?: number
}

/** A page of one value, 7. */
const page = Buffer.concat([
  // PageHeader: a data page of 8 bytes, packed and unpacked, with one value in PLAIN; levels are not there.
  Buffer.from([0x15, 0, 0x15, 16, 0x15, 16, 0x2c, 0x15, 2, 0x15, 0, 0x15, 6, 0x15, 6, 0, 0]),
  Buffer.from([7, 0, 0, 0, 0, 0, 0, 0]),
])

export const pageBytes = page.length

/** A file with one page for each group, and metadata that says `rowCount` rows in all, or what its groups say. */
export function parquetSaying(groups: readonly SaidGroup[], rowCount?: number): Buffer {
  const total = rowCount ?? groups.reduce((sum, group) => sum + group.rowCount, 0)
  const metadata = Buffer.concat([
    integer(0x15, 2),
    schema,
    integer(0x16, total),
    Buffer.from([0x19]),
    listHeader(groups.length),
    ...groups.map((group, index) => rowGroup(group, 4 + index * page.length)),
    Buffer.from([0]),
  ])
  const trailer = Buffer.alloc(8)
  trailer.writeUInt32LE(metadata.length)
  trailer.write('PAR1', 4, 'latin1')
  return Buffer.concat([Buffer.from('PAR1', 'latin1'), ...groups.map(() => page), metadata, trailer])
}

const schema = Buffer.concat([
  Buffer.from([0x19, 0x2c]),
  Buffer.from([0x48, 1, 0x73, 0x15, 2, 0]),
  Buffer.from([0x15, 4, 0x25, 0, 0x18, 1, 0x6e, 0]),
])

function rowGroup({ rowCount, valueCount, byteCount, pageAt }: SaidGroup, ownPageAt: number): Buffer {
  const at = pageAt ?? ownPageAt
  const size = byteCount ?? page.length
  const column = [
    Buffer.from([0x15, 4, 0x19, 0x15, 0, 0x19, 0x18, 1, 0x6e, 0x15, 0]),
    integer(0x16, valueCount ?? rowCount),
    integer(0x16, size),
    integer(0x16, size),
    integer(0x26, at),
    Buffer.from([0]),
  ]
  const chunk = [Buffer.from([0x19, 0x1c]), integer(0x26, at), Buffer.from([0x1c]), ...column, Buffer.from([0])]
  return Buffer.concat([...chunk, integer(0x16, size), integer(0x16, rowCount), Buffer.from([0])])
}

function listHeader(count: number): Buffer {
  return count < 15 ? Buffer.from([(count << 4) | 12]) : Buffer.from([0xfc, ...varint(BigInt(count))])
}

/** A field by its header, and a number in zigzag. */
function integer(header: number, value: number): Buffer {
  return Buffer.from([header, ...varint(BigInt.asUintN(64, (BigInt(value) << 1n) ^ (BigInt(value) >> 63n)))])
}

function varint(value: bigint): readonly number[] {
  const bytes: number[] = []
  let rest = value
  for (; rest >= 128n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128)
  return [...bytes, Number(rest)]
}
