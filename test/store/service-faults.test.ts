// Whose fault a failure of the engine is: the caller's, or that of the service's files, descriptors and stored data.

import t from 'tap'
import { toParquetFailure } from '../../src/ingest/parquet/parquet-file.ts'
import { ApiError } from '../../src/shared/errors/errors.ts'
import { toQueryError } from '../../src/store/caller-errors.ts'
import { toStoreError } from '../../src/store/store-error.ts'

const table = `t_${'0'.repeat(32)}`
const sql = `SELECT sum(n) FROM ws_0001.${table}`

function answerTo(code: number, words: string): ApiError {
  const thrown = toStoreError(new Error(`Query failed: Code: ${code}. DB::Exception: ${words}`))
  const told = toQueryError(thrown, { queryTimeMaxMs: 1, resultBytesMax: 1, sql })
  if (!(told instanceof ApiError)) throw new Error('the table of errors has each')
  return told
}

t.test('an engine that may open no more files is a 503, whatever call of the system it was', async (t) => {
  const words = 'errno: 24, strerror: Too many open files.'
  const cases: readonly (readonly [code: number, words: string])[] = [
    [460, `Cannot create timer_fd descriptor: , ${words} (CANNOT_CREATE_TIMER) (version 26.1.1.1)`],
    [573, `Cannot open epoll descriptor: , ${words} (EPOLL_ERROR)`],
    [76, `Cannot open file /x: , ${words} (CANNOT_OPEN_FILE)`],
    // One that is on no list.
    [719, `Cannot do so: , ${words} (SOMETHING_NEW)`],
  ]
  for (const [code, message] of cases)
    t.match(answerTo(code, message), { status: 503, code: 'DISK_UNAVAILABLE' }, message)
})

t.test('a text of the caller that speaks of the system is the caller’s', async (t) => {
  const words = 'x, errno: 24, strerror: Too many open files'
  const cases: readonly (readonly [code: number, words: string])[] = [
    [395, `${words}. (FUNCTION_THROW_IF_VALUE_IS_NON_ZERO)`],
    [6, `Cannot parse string '${words}' as UInt8. (CANNOT_PARSE_TEXT)`],
    [62, `Syntax error: failed at position 8 (${words}): ${words}. Expected one of: token. (SYNTAX_ERROR)`],
  ]
  for (const [code, message] of cases) t.match(answerTo(code, message), { status: 400 }, message)
})

t.test('stored data that is damaged is a 500, and names its table', async (t) => {
  const place = `(while reading from part /d/clickhouse/store/abc/abcdef/all_1_1_0/ in table ws_0001.${table} (abc) located on disk default): While executing MergeTreeSelect(pool: ReadPoolInOrder)`
  const cases: readonly (readonly [code: number, words: string])[] = [
    [40, "Checksum doesn't match: corrupted data. Reference: 69dc. Actual: a84d. (CHECKSUM_DOESNT_MATCH)"],
    [
      33,
      `Cannot read all data in MergeTreeReaderCompact. Rows read: 0: (while reading column n): ${place}. (CANNOT_READ_ALL_DATA)`,
    ],
    [32, `Attempt to read after eof: (while reading column n): ${place}. (ATTEMPT_TO_READ_AFTER_EOF)`],
    [117, `Bad size of data: ${place}. (INCORRECT_DATA)`],
    [271, `Cannot decompress: ${place}. (CANNOT_DECOMPRESS)`],
    [230, 'Part is gone. (NOT_FOUND_EXPECTED_DATA_PART)'],
  ]
  for (const [code, message] of cases) {
    const told = answerTo(code, message)
    t.match(told, { status: 500, code: 'ENGINE_FAILED' }, message)
    if (code !== 230) t.match(String(told.cause), table, message)
  }
})

t.test('states and texts that a query reads and that are none are the caller’s', async (t) => {
  const cases: readonly (readonly [code: number, words: string])[] = [
    [32, 'Attempt to read after eof. (ATTEMPT_TO_READ_AFTER_EOF)'],
    [
      33,
      "Cannot read all data. Bytes read: 2. Bytes expected: 5: while executing 'FUNCTION CAST(who)': While executing MergeTreeSelect(pool: ReadPoolInOrder). (CANNOT_READ_ALL_DATA)",
    ],
    [117, 'Incorrect data. (INCORRECT_DATA)'],
  ]
  for (const [code, message] of cases) t.match(answerTo(code, message), { status: 400 }, message)
})

t.test('what the engine says of the pages of a Parquet file is the file’s, whichever library says it', async (t) => {
  const place =
    'read stage: ColumnData: column: a: (in file/uri /d/parts/7.arrow): While executing ParquetV3BlockInputFormat: While executing File'
  const told = (code: number, words: string) =>
    toParquetFailure(toStoreError(new Error(`Query failed: Code: ${code}. DB::Exception: ${words}`)))
  const ofFile: readonly (readonly [code: number, words: string])[] = [
    [271, `Malformed snappy compressed page: ${place}. (CANNOT_DECOMPRESS)`],
    [561, `ZSTD stream decoding failed: error 'Src size is incorrect': ${place}. (ZSTD_DECODER_FAILED)`],
    [1001, `apache::thrift::protocol::TProtocolException: TProtocolException: Invalid data: ${place}. (STD_EXCEPTION)`],
    [1001, `apache::thrift::transport::TTransportException: No more data to read: ${place}. (STD_EXCEPTION)`],
    [49, `Row passes filters but its page was not selected: ${place}. (LOGICAL_ERROR)`],
  ]
  for (const [code, words] of ofFile) {
    const failure = told(code, words)
    t.match(failure, { status: 400, code: 'BODY_CORRUPT' }, words)
    t.notMatch(failure, { message: /\/d\/parts/ })
  }
  const ofService: readonly (readonly [code: number, words: string])[] = [
    [
      74,
      `Cannot read from file /x: , errno: 5, strerror: Input/output error: ${place}. (CANNOT_READ_FROM_FILE_DESCRIPTOR)`,
    ],
    [75, `Cannot write: ${place}, errno: 28, strerror: No space left on device. (CANNOT_WRITE_TO_FILE_DESCRIPTOR)`],
    [1001, `std::bad_alloc: ${place}. (STD_EXCEPTION)`],
    [173, `Cannot allocate: ${place}. (CANNOT_ALLOCATE_MEMORY)`],
    [241, `(total) memory limit exceeded: would use 9 GiB: ${place}. (MEMORY_LIMIT_EXCEEDED)`],
    [1001, 'std::exception: anything else. (STD_EXCEPTION)'],
  ]
  for (const [code, words] of ofService) t.notMatch(told(code, words), { status: 400 }, words)
})
