import t from 'tap'
import { isTypeName, typeNames } from '../../../src/schema/syntax/type-names.ts'
import { checkTypeText } from '../../../src/schema/syntax/type-parser.ts'
import { openEmbeddedStore } from '../../../src/store/embedded/embedded-store.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from '../../support/store/test-store.ts'

const directory = await createTestDirectory()
const store = await openEmbeddedStore(testStoreOptions(directory.path), silentLogger)
t.teardown(async () => {
  await store.close()
  await directory.remove()
})

t.test('the list of types is that of the engine', async (t) => {
  const families = await store.rows<{ readonly name: string; readonly isLoose: number }>(
    'SELECT name, case_insensitive AS isLoose FROM system.data_type_families',
  )
  const known = new Set(families.map(({ name, isLoose }) => (isLoose === 1 ? name.toUpperCase() : name)))
  t.strictSame([...new Set(typeNames)].sort(), [...known].sort())
  for (const { name } of families) t.ok(isTypeName(name), name)
  t.notOk(isTypeName('string'), 'the engine takes this name with a capital only')
})

t.test('what the engine takes for a type is one', async (t) => {
  const types = [
    'UInt8',
    'Nullable(String)',
    'LowCardinality(Nullable(FixedString(3)))',
    "DateTime64(3, 'Europe/Madrid')",
    "Enum8('a' = 1, 'b' = -2)",
    "Enum('a', 'b')",
    'Map(String, Array(Tuple(UInt8, String)))',
    'Tuple(a UInt8, `b c` Array(String))',
    'Tuple(x DOUBLE PRECISION, INT UNSIGNED)',
    'DOUBLE PRECISION',
    'Nested(a UInt8, b String)',
    'Variant(UInt8, String)',
    'Dynamic(max_types = 3)',
    "JSON(max_dynamic_paths = 8, a.b UInt32, SKIP c.d, SKIP REGEXP 'e.*')",
    'AggregateFunction(uniq, UInt64)',
    'AggregateFunction(1, sumMap, Array(UInt8), Array(UInt8))',
    'AggregateFunction(quantilesIf(0.5, 0.9), Float64, UInt8)',
    'AggregateFunction(sumMapFiltered([1, 2]), Array(UInt8), Array(UInt64))',
    "AggregateFunction(groupConcat(', '), String)",
    'SimpleAggregateFunction(anyLast, Nullable(String))',
    'Decimal(10, 2)',
    'decimal(10, 2)',
    'varchar(255)',
    'NATIONAL CHARACTER VARYING(3)',
    'Point',
    'QBit(Float32, 8)',
    'IntervalDay',
    'Time64(3)',
  ]
  for (const type of types) {
    t.doesNotThrow(() => checkTypeText(type), type)
    await t.resolves(store.rows(`SELECT * FROM null('c ${type.replaceAll("'", "\\'")}')`), type)
  }
})
