/** Where the kernel's records keep their fields: 32-bit words from the record's address on, as `kernel/layout.ts` has them. */

export const columnWords = {
  /** A double, and so is `maximum`. */
  minimum: 0,
  maximum: 2,
  reader: 4,
  position: 5,
  capacity: 6,
  values: 7,
  offsets: 8,
  bytes: 9,
  byteCapacity: 10,
  isNull: 11,
  isMissing: 12,
  nullCount: 13,
  missingCount: 14,
  markedEnd: 15,
  scale: 16,
  zone: 17,
  isNullable: 18,
  hasDefault: 19,
  isNeverRead: 20,
  element: 21,
  id: 22,
  isStruct: 23,
} as const
export const columnRecordBytes = 96

export const memberWords = {
  /** Two words. */
  seenInRecord: 0,
  prefix: 2,
  prefixLength: 3,
  prefixMask: 4,
  position: 5,
  columns: 6,
  columnCount: 7,
  onlyColumn: 8,
  below: 9,
  next: 10,
} as const
export const memberRecordBytes = 48

export const tableWords = { members: 0, memberCount: 1, buckets: 2, bucketMask: 3 } as const
export const tableRecordBytes = 16

export const planWords = {
  /** Two words. */
  record: 0,
  table: 2,
  columns: 3,
  memberOf: 4,
  columnCount: 5,
  rowCount: 6,
  capacity: 7,
  checksUtf8: 8,
  hasWholeRecordColumns: 9,
  delimiter: 10,
  escape: 11,
  hasFastReaders: 12,
  fields: 13,
  fieldCount: 14,
  absents: 15,
  absentCount: 16,
  cells: 17,
  surveyedEnd: 18,
  canSurvey: 19,
  quarantine: 20,
  refusals: 21,
} as const
export const planRecordBytes = 88

export const quarantineWords = {
  rowCount: 0,
  capacity: 1,
  texts: 2,
  errorColumns: 3,
  errors: 4,
  textCount: 5,
  textsEnd: 6,
  invalidCount: 7,
} as const
export const quarantineRecordBytes = 32

export const refusalWords = {
  /** Four words. */
  possible: 0,
  tail: 4,
  tailBytes: 5,
  missing: 6,
  missingBytes: 7,
  name: 8,
  nameBytes: 9,
} as const
export const refusalRecordBytes = 40

/** `state` is one of `cellStates`. */
export const cellWords = { state: 0, start: 1, end: 2, isQuoted: 3, isNull: 4 } as const
export const cellRecordBytes = 20

/** `absent`: no value, or null; `fits`: a fast reader takes it; `unknown`: for the exact path to judge. */
export const cellStates = { absent: 0, fits: 1, unknown: 2 } as const
