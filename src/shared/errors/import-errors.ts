// What ends or refuses an import or a replace. Sorted by status.

import { define, untoldReasons } from './definition.ts'

export const importErrors = {
  ROWS_REFUSED: define({
    status: 400,
    when: 'The database refuses rows of an import although their values fit: a DEFAULT or a key fails for them, or a sign is neither 1 nor -1. A few such rows are found one by one and set aside; this error is for more of them, or for a table with Materialized Views. The counted rows are stored or in quarantine.',
    quotes: 'sent',
    message: ({ reason }: { readonly reason: string }) =>
      `The database refused rows of the import, so it ended early; the counted rows are stored. Correct the others, or the DEFAULT, key or sign that fails for them: ${reason}`,
  }),
  PARTITIONS_TOO_MANY: define({
    status: 400,
    when: 'The rows of an import belong to more partitions than one body may have (`partitionsPerBodyMax`), or the Data Source would have more than it may (`partitionsMax`). The counted rows are stored.',
    limit: () => 'parts_at_once',
    message: ({ scope, partitionsMax }: { readonly scope: 'body' | 'table'; readonly partitionsMax: number }) =>
      scope === 'body'
        ? `The rows of the import belong to more than ${partitionsMax} partitions, so it ended early; the counted rows are stored. Use a coarser partition key, send rows of fewer partitions at a time, or raise --partitions-per-body-max`
        : `The Data Source would have more than ${partitionsMax} partitions, so the import ended early; the counted rows are stored. Use a coarser partition key, or raise --partitions-max`,
  }),
  APPEND_UNSUPPORTED: define({
    status: 400,
    when: 'Rows cannot be appended to a Data Source whose engine is Join, or from which a Materialized View, at any depth, fills such a Data Source.',
    message: ({
      name,
      join,
    }: {
      readonly name: string /** Undefined is the Data Source itself. */
      readonly join?: string
    }) =>
      join === undefined
        ? `Data Source "${name}" has the engine Join, to which rows cannot be appended; use mode=replace`
        : `Rows cannot be appended to Data Source "${name}": a Materialized View writes them to Data Source "${join}", which has the engine Join; use mode=replace`,
    withoutOthers: ({ name, join }) =>
      join === undefined
        ? `Data Source "${name}" has the engine Join, to which rows cannot be appended; use mode=replace`
        : `Rows cannot be appended to Data Source "${name}": a Materialized View writes them to one with the engine Join; use mode=replace`,
  }),
  REPLACE_CONDITION_INVALID: define({
    status: 400,
    when: 'The parameter `replace_condition` is not a condition over the columns, or does not use the partition key.',
    message: ({ reason }: { readonly reason: string }) => `Parameter "replace_condition" cannot be used: ${reason}`,
  }),
  REPLACE_CONDITION_FAILED: define({
    status: 400,
    when: 'The parameter `replace_condition` is a condition, and fails on rows that the Data Source has. The old content stays. A token that may not read all rows of it is not told how.',
    quotes: 'stored',
    message: ({ reason }: { readonly reason: string }) => `Parameter "replace_condition" cannot be used: ${reason}`,
  }),
  REPLACE_PARTITIONS_DIFFER: define({
    status: 400,
    when: 'In a replace with a condition, a Data Source that is computed from the replaced one has an incompatible partition key. The old content stays.',
    message: ({ source, target, reason }: PartitionFault) =>
      `The partition keys of "${source}" and of "${target}", which is computed from it, are not compatible: ${reason}; nothing was replaced`,
    withoutOthers: () =>
      'The partition keys of Data Sources that are computed from the replaced one are not compatible; nothing was replaced',
  }),
  REPLACE_EMPTY: define({
    status: 400,
    when: 'The body of a replace has rows, but none of them fits the Data Source. They are in quarantine; the old content stays.',
    message: ({ name }: { readonly name: string }) =>
      `No row fits Data Source "${name}", so its content was not replaced; the reasons are in its quarantine`,
  }),
  FILE_EMPTY: define({
    status: 400,
    when: 'The file of a replace by URL has no bytes. The old content stays.',
    message: () =>
      'The file has no bytes, so nothing was replaced; to delete all rows, use POST /v0/datasources/<name>/truncate',
  }),
  CLIENT_LEFT: define({
    status: 400,
    when: 'The client closed its connection before the answer to the import of a compressed body or a Parquet file that had arrived as a whole. This is in the log only, with the counts of what is stored.',
    message: () => 'The client closed the connection before its import ended, so the import was stopped',
  }),
  IMPORT_NOT_RESUMABLE: define({
    status: 409,
    when: 'An import that was interrupted cannot be gone on with: its file, or an option that says how files are cut, is not as it was. The counted rows are stored.',
    message: () =>
      'The import was interrupted and cannot go on: its file is not as it was, or the service was started with other options; the counted rows are stored',
  }),
  IMPORT_OVERTAKEN: define({
    status: 409,
    when: 'While an import by URL was interrupted its Data Source was truncated, replaced or altered, or took thousands of other blocks: which of its last rows are stored cannot be told any more. The counted rows were stored.',
    message: ({ name }: { readonly name: string }) =>
      `Data Source "${name}" was truncated, replaced or altered, or took thousands of other blocks, while the import was interrupted, so the import cannot go on; the counted rows were stored`,
  }),
  JOB_ORDER_LOST: define({
    status: 409,
    when: 'A job was sealed with a key that is missing, or written by another release, so nobody knows what it was to do.',
    message: () => 'The job cannot be read: the key that it was sealed with is missing, or another release wrote it',
  }),
  IMPORT_VIEW_FAILED: define({
    status: 422,
    when: 'A Materialized View fails for rows of an import. The counted rows are in the Data Source, and in the views that take them; the rest was not read.',
    quotes: 'of views',
    message: ({ reason }: { readonly reason: string }) =>
      `A Materialized View failed, so the import ended early; the counted rows are stored, but this view has not taken them; do not send them again. The field views_behind of the Data Source tells whether they are kept for the view: ${reason}`,
  }),
  INSERT_TOO_COSTLY: define({
    status: 422,
    when: 'An INSERT of an import takes more time (`insertTimeMaxMs`) or memory (half of `engineMemoryBytesMax`) than it may, because a DEFAULT, a key or a Materialized View is expensive for each row. The counted rows are stored.',
    quotes: 'sent',
    message: ({ reason }: { readonly reason: string }) =>
      `A DEFAULT, a key or a Materialized View takes too much time or memory for the rows of the import, so it ended early; the counted rows are stored, and others may be. Make the expression cheaper, or count the rows and send those that are missing in smaller bodies: ${reason}`,
    limit: () => 'insert_cost',
  }),
  PARQUET_TOO_COSTLY: define({
    status: 422,
    when: 'Reading and storing a Parquet file takes more time (`insertTimeMaxMs`) or memory (half of `engineMemoryBytesMax`) than an INSERT may: its pages are damaged or very large, or a DEFAULT, a key or a Materialized View is expensive for each row. The counted rows are stored.',
    quotes: 'sent',
    message: ({ reason }: { readonly reason: string; readonly cause?: unknown }) =>
      `Reading the Parquet file takes too much time or memory; the counted rows are stored, and others may be. Check that the file is complete, write it with smaller pages and row groups, or make a DEFAULT, a key or a Materialized View cheaper: ${reason}`,
    limit: () => 'insert_cost',
  }),
  REPLACE_VIEW_FAILED: define({
    status: 422,
    when: 'A Materialized View fails for the new rows of a replace. The old content stays.',
    quotes: 'of views',
    withoutRows: () =>
      `A Materialized View fails for the new rows, so nothing was replaced: ${untoldReasons['of views']}`,
    message: ({ view, reason }: { readonly view: string; readonly reason: string }) =>
      `Materialized View "${view}" fails for the new rows, so nothing was replaced: ${reason}`,
  }),
  DISK_FAILED: define({
    status: 500,
    when: 'The disk failed during an import, and rows of it are stored, or may be: sending the whole body again stores those twice. The counts are in the answer.',
    message: ({ reason, storedRows, quarantinedRows }: ImportCut) =>
      `The disk failed during the import: ${reason}. Rows known to be stored: ${storedRows}, in quarantine: ${quarantinedRows}. Sending the whole body again stores them twice: delete them first, or send it as a replace`,
  }),
  IMPORT_STOPPED: define({
    status: 503,
    when: 'The service shuts down, and the import did not end within a tenth of `closeTimeoutMs`. What was read until then is stored, and the counts are in the answer; sending the whole body again stores those rows twice.',
    message: () =>
      'The service is shutting down and stopped the import. The counted rows are stored; sending the whole body again stores them twice: delete them first, or send it as a replace',
  }),
}

interface PartitionFault {
  /** Names of the two data sources. */
  readonly source: string
  readonly target: string
  readonly reason: string
}

interface ImportCut {
  readonly reason: string
  readonly storedRows: number
  readonly quarantinedRows: number
}
