/**
 * What the kernel and its host keep in common memory. The host writes these records (`kernel-layout.ts` has the same
 * fields in the same order) and the kernel reads them, and both write into the columns.
 *
 * A field of type `usize` is a pointer; 0 means that there is none.
 */

/** Fast readers by number; the same numbers stand in `value-plan.ts`. */
export namespace Reader {
  export const none = 0
  export const text = 1
  export const integer = 2
  export const integer64 = 3
  export const float = 4
  export const bool = 5
  export const dateTime = 6
  export const dateTime64 = 7
  export const date = 8
  export const uuid = 9
  export const list = 10
}

/** A column under construction; see `column.ts` for what holds of its buffers. */
@unmanaged
export class Column {
  /** Bounds of integers up to 32 bits; the largest finite value of floats; `maximum` is 0 for Int64 and 1 for UInt64. */
  minimum: f64
  maximum: f64
  reader: i32
  /** Index among the columns of the schema; of a list's elements, that of the list. */
  position: i32
  /** Rows that fit. */
  capacity: i32
  /** Values of a fixed width: 4 bytes each, or 8, or 16. */
  values: usize
  /** Row `i` of text is bytes `offsets[i]` to `offsets[i + 1]`, of a list these elements. */
  offsets: usize
  bytes: usize
  byteCapacity: i32
  isNull: usize
  isMissing: usize
  nullCount: i32
  missingCount: i32
  /** No row at or beyond this index is marked as null or missing. */
  markedEnd: i32
  /** Decimal places of DateTime64. */
  scale: i32
  /** Number of the time zone of local times, 0 for UTC. */
  zone: i32
  isNullable: i32
  hasDefault: i32
  /** AggregateFunction: no value is ever accepted, and the engine fills in the empty state. */
  isNeverRead: i32
  /** Elements of a list. */
  element: usize
  /** The column itself for the host. */
  id: i32
  /** A tuple: its children are written by the host alone. */
  isStruct: i32
}

/** A key of an object that some column is interested in. */
@unmanaged
export class Member {
  /** The record in which this member was seen last. */
  seenInRecord: i64
  /** `"key":` with zeros behind it up to a multiple of 16 bytes. */
  prefix: usize
  prefixLength: i32
  /** Bits of the first 16 bytes that belong to the prefix; -1 for a key that no record has as it is. */
  prefixMask: i32
  /** Its place in the table. */
  position: i32
  /** Pointers to the columns that take this member's own value. */
  columns: usize
  columnCount: i32
  /** The only column that asks for this member, when nothing looks below it. */
  onlyColumn: usize
  /** The table of members below, when columns look into the value. */
  below: usize
  /** The next member whose key has the same bucket. */
  next: usize
}

/** Bytes from one member to the next. */
export const memberBytes: usize = 48

/** The members of one object in the order of the schema. */
@unmanaged
export class MemberTable {
  /** Members behind one another. */
  members: usize
  memberCount: i32
  /** Pointers to members by the hash of their keys; the number of buckets is a power of two. */
  buckets: usize
  bucketMask: i32
}

/** A compiled schema with the state of its block. */
@unmanaged
export class Plan {
  /** Counts records over all frames, so that `seenInRecord` of an earlier one never looks like a later one's. */
  record: i64
  table: usize
  /** Pointers to all columns, and for each the member that gives its value; 0 for those that take the whole record. */
  columns: usize
  memberOf: usize
  columnCount: i32
  /** Rows of the block, and rows that fit in every column. */
  rowCount: i32
  capacity: i32
  /** Whether the frame may hold bytes that are no UTF-8, so that each record is to be looked at. */
  checksUtf8: i32
  hasWholeRecordColumns: i32
  /** CSV: the character between fields, its bytes as a little-endian word. */
  delimiter: u32
  /** CSV: the byte before an escaped character; the quote where quotes are doubled. */
  escape: i32
  /** CSV: whether numbers and times can be told from delimiters and escapes. */
  hasFastReaders: i32
  /** CSV: pointers to the columns that the fields fill, 0 for fields not asked for. */
  fields: usize
  fieldCount: i32
  /** CSV: pointers to the columns that no field fills. */
  absents: usize
  absentCount: i32
  /** What the survey found, one cell for each column. */
  cells: usize
  /** Address behind the record that the survey looked at last, or 0 when it is unusual as a whole. */
  surveyedEnd: usize
  /** Whether each column's value stands in the record as it is: no whole records, nothing gathered out of elements. */
  canSurvey: i32
  quarantine: usize
  /** One for each column. */
  refusals: usize
}

/** The rows that are set aside. */
@unmanaged
export class Quarantine {
  rowCount: i32
  /** Rows that fit in every column. */
  capacity: i32
  /** Pointers to the text columns, one for each column of the schema. */
  texts: usize
  /** The lists of the columns that are wrong, and of the reasons. */
  errorColumns: usize
  errors: usize
  textCount: i32
  /** Up to this row the text columns are written; what is behind it has no texts, and is filled when somebody needs it. */
  textsEnd: i32
  /** Lines that the kernel set aside because nothing can be read of them. */
  invalidCount: i32
}

/** What the kernel knows of values that a column refuses, and how it says so. */
@unmanaged
export class Refusal {
  /** 128 bits, one for each byte that may stand in a text that the column takes; all zero where that is for the host to say. */
  possible0: i64
  possible1: i64
  /** The reason behind the value: `' on column 'y' is not Int32`. */
  tail: usize
  tailBytes: i32
  /** The reason for a value that the record does not have. */
  missing: usize
  missingBytes: i32
  /** The column's name. */
  name: usize
  nameBytes: i32
}

/** Bytes from one refusal to the next. */
export const refusalBytes: usize = 40

export namespace CellState {
  /** The record has no value there, or null. */
  export const absent = 0
  /** A fast reader takes it. */
  export const fits = 1
  /** For the host to judge. */
  export const unknown = 2
}

/** Where in the frame a record's value for a column stands: a string's inside, all else as it is. */
@unmanaged
export class Cell {
  state: i32
  start: i32
  end: i32
  isQuoted: i32
  isNull: i32
}

/** Bytes from one cell to the next. */
export const cellBytes: usize = 20
