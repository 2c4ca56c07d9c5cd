// What the engine judges by keys, partitions and indexes instead of rows: conditions of a reader whose rows are filtered must
// not be tried on what these hold of hidden rows.

import t from 'tap'
import { openFilteredQuery } from '../support/query/filtered-query.ts'
import { byTier } from '../support/tier.ts'

const { store, workspace, ask: answerOf } = await openFilteredQuery(t)
const columns = 'tenant String, k Int64, s String, t DateTime64(3), d Date, n UInt64'
const engines: Readonly<Record<string, string>> = {
  index: 'MergeTree ORDER BY n',
  bloom: 'MergeTree ORDER BY n',
  partition: 'MergeTree PARTITION BY s ORDER BY n',
  numbers: 'MergeTree PARTITION BY k ORDER BY n',
  months: 'MergeTree PARTITION BY toYYYYMM(d) ORDER BY n',
  tenants: 'MergeTree PARTITION BY tenant ORDER BY n',
  key: 'MergeTree ORDER BY k',
  texts: 'MergeTree ORDER BY s',
  times: 'MergeTree ORDER BY t',
  sampled: 'MergeTree ORDER BY (tenant, intHash32(n)) SAMPLE BY intHash32(n)',
  replacing: 'ReplacingMergeTree PARTITION BY s ORDER BY (tenant, n)',
}
const indexes: Readonly<Record<string, string>> = {
  index: ', INDEX i s TYPE set(1000), INDEX j k TYPE minmax',
  bloom: ', INDEX i s TYPE bloom_filter, INDEX j s TYPE tokenbf_v1(256, 2, 0), INDEX l s TYPE ngrambf_v1(3, 256, 2, 0)',
  replacing: ', INDEX i s TYPE set(1000)',
}
const hidden = `SELECT 'b', (number % 40) * 90000000700, concat('SECRET', toString(number % 5)), toDateTime64('2299-01-01 00:00:00', 3), toDate('2024-03-05'), number FROM numbers(300)`
for (const [name, engine] of Object.entries(engines)) {
  for (const isHiding of [false, true]) {
    const { id } = workspace.addDataSource(isHiding ? `${name}_more` : name, columns)
    const settings = 'SETTINGS index_granularity = 4'
    await store.command(`CREATE TABLE ws_0001.${id} (${columns}${indexes[name] ?? ''}) ENGINE = ${engine} ${settings}`)
    await store.command(
      `INSERT INTO ws_0001.${id} SELECT 'a', number % 5, toString(number % 5), toDateTime64('2024-01-01 00:00:00', 3), toDate('2024-01-05'), number FROM numbers(30)`,
    )
    if (isHiding) await store.command(`INSERT INTO ws_0001.${id} ${hidden}`)
    await store.command(`OPTIMIZE TABLE ws_0001.${id} FINAL`)
  }
}

async function ask(sql: string): Promise<string> {
  try {
    return (await answerOf(sql)).toString()
  } catch (error) {
    return `refused: ${error instanceof Error ? error.message : String(error)}`
  }
}

/** Each raises, or is true, for some hidden row, and for none that is seen. */
const conditions = [
  'toUInt64(s) >= 0',
  "throwIf(s LIKE 'SECRET%') = 0",
  "throwIf(s = 'SECRET3') = 0",
  "s IN ('SECRET1') OR n >= 0",
  'throwIf(k > 777000) = 0',
  'intDiv(1, toYYYYMM(d) - 202403) = 0',
  "throwIf(tenant = 'b') = 0",
  "toUInt64(replaceOne(tenant, 'a', '1')) > 0",
  'toDateTime64(t, 9) > 3',
  'toUnixTimestamp64Nano(t) > 3',
  'toStartOfDay(toDateTime64(k, 0)) <= 30',
  'toStartOfHour(toDateTime64(k, 0)) >= 0',
  'k * k * k * k >= 0',
  'toDate(k) < 100',
]
const shapes = [
  'SELECT count(), sum(n) FROM SOURCE WHERE CONDITION',
  'SELECT count(), sum(n) FROM SOURCE FINAL WHERE CONDITION',
  'SELECT count(), sum(n) FROM SOURCE PREWHERE CONDITION',
  'SELECT count(), sum(n) FROM (SELECT * FROM SOURCE) WHERE CONDITION',
  'WITH x AS (SELECT * FROM SOURCE) SELECT count(), sum(n) FROM x WHERE CONDITION',
  'SELECT count(), sum(x.n) FROM SOURCE AS x JOIN numbers(40) AS y ON x.n = y.number WHERE CONDITION',
  'SELECT n FROM SOURCE GROUP BY n, tenant, s, k, t, d HAVING CONDITION ORDER BY n',
  'SELECT n FROM SOURCE WHERE CONDITION ORDER BY n LIMIT 3',
  'SELECT n FROM SOURCE QUALIFY CONDITION ORDER BY n LIMIT 3',
  'SELECT count() FROM numbers(40) WHERE number IN (SELECT n FROM SOURCE WHERE CONDITION)',
]

for (const name of Object.keys(engines)) {
  t.test(`conditions see nothing of hidden rows in keys and indexes: ${name}`, async (t) => {
    for (const shape of shapes.slice(0, byTier({ quick: 2, full: 10, soak: 10 }))) {
      if (shape.includes('FINAL') && name !== 'replacing') continue
      for (const condition of conditions) {
        const sql = shape.replace('CONDITION', condition)
        const expected = await ask(`${sql.replaceAll('SOURCE', name)} FORMAT TSV`)
        const found = await ask(`${sql.replaceAll('SOURCE', `${name}_more`)} FORMAT TSV`)
        if (found !== expected) t.equal(found, expected, sql.replaceAll('SOURCE', name))
      }
    }
    t.pass('all are the same')
  })
}

t.test('a sample of a number of rows is refused where a filter hides some; a share is not', async (t) => {
  for (const sample of ['50', '1e2', '100/2', '30 OFFSET 1/2', '2']) {
    t.match(await ask(`SELECT count() FROM sampled SAMPLE ${sample}`), /^refused: .*SAMPLE/, sample)
  }
  for (const sample of ['0.5', '1/3', '1/3 OFFSET 1/3', '1']) {
    t.equal(
      await ask(`SELECT count(), sum(n) FROM sampled_more SAMPLE ${sample} FORMAT TSV`),
      await ask(`SELECT count(), sum(n) FROM sampled SAMPLE ${sample} FORMAT TSV`),
      sample,
    )
  }
})
