// A Parquet file of more partitions than one INSERT takes, of which the last has a row that the table refuses: those before are
// stored by then, and are stored once.
import t from 'tap'
import { openTestService, severalWorkers } from '../support/api/test-service.ts'
import { writeParquetFiles } from '../support/parquet-files.ts'

const file = (
  await writeParquetFiles({
    file: {
      sql: 'SELECT toUInt32(number) AS id, toUInt32(number % 30) AS grp, toInt32(if(number = 2999, 0, 1)) AS x FROM numbers(3000)',
    },
  })
)('file')
const service = await openTestService(t, severalWorkers)
const schema = 'id UInt32 `json:$.id`, grp UInt32 `json:$.grp`, x Int32 `json:$.x`'

for (const [name, columns, key] of [
  ['by_default', `${schema}, d Int32 DEFAULT intDiv(1000, x)`, 'id'],
  ['by_key', schema, 'intDiv(1000, x), id'],
] as const) {
  t.test(`rows of partitions that are stored before one is refused are stored once: ${name}`, async (t) => {
    const engine = { engine: 'MergeTree', engine_partition_key: 'grp', engine_sorting_key: key }
    t.match(await service.create(name, columns, engine), { status: 200 })
    const path = `/v0/datasources?mode=append&name=${name}&format=parquet`
    t.match(await service.call('POST', path, { body: file }), {
      status: 200,
      json: { imported_rows: 2_999, quarantine_rows: 1 },
    })
    t.same(await service.rows(`SELECT count(), uniqExact(id) FROM ${name}`), [['2999', '2999']])
  })
}
