import t from 'tap'
import { openTokenService } from '../support/api/token-service.ts'

t.test(
  'a DEFAULT that fails on a hidden row quotes it to no filtered reader, with FINAL or in the filter',
  async (t) => {
    const { admin, valueWith, as } = await openTokenService(t)
    for (const engine of ['ReplacingMergeTree', 'SummingMergeTree']) {
      const name = `g_${engine.slice(0, 3)}`
      const columns = 'id UInt32 `json:$.id`, ten String `json:$.ten`, s String `json:$.s`'
      const made = new URLSearchParams({ name, engine, engine_sorting_key: 'id', schema: columns })
      t.equal((await admin('POST', `/v0/datasources?${made}`)).status, 200)
      const rows = '{"id":1,"ten":"a","s":"1"}\n{"id":2,"ten":"b","s":"HIDDENCANARY"}'
      await admin('POST', `/v0/events?name=${name}&wait=true`, rows)
      const schema = `${columns}, z UInt8 DEFAULT toUInt8(s), w UInt8 DEFAULT intDiv(1, length(s) - 12), c UInt8 DEFAULT 7`
      const alter = await admin('POST', `/v0/datasources/${name}/alter?${new URLSearchParams({ schema })}`)
      t.equal(alter.status, 200, alter.text)
      const nodes = [{ name: `node_${name}`, sql: `SELECT id, z FROM ${name} FINAL`, type: 'endpoint' }]
      await admin('POST', '/v0/pipes', JSON.stringify({ name: `pipe_${name}`, nodes }))
      const texts = new Set<string>()
      for (const filter of ["ten = 'a'", "z > 0 AND ten = 'a'", "w > 0 AND ten = 'a'"]) {
        const token = await valueWith(
          `${name} ${filter}`,
          `DATASOURCES:READ:${name}:${filter}`,
          `PIPES:READ:pipe_${name}`,
        )
        for (const sql of [
          `SELECT z FROM ${name} FINAL`,
          `SELECT count() AS n FROM ${name} FINAL WHERE z > 0`,
          `SELECT z FROM ${name} FINAL PREWHERE z > 0`,
          `SELECT w FROM ${name} FINAL`,
          `SELECT z FROM ${name}`,
          `SELECT z FROM pipe_${name}`,
        ]) {
          const answer = await as(token)('POST', '/v0/sql', `${sql} FORMAT JSONCompact`)
          t.notMatch(answer.text, /CANARY|parse|ivision/, `${filter} ${sql}`)
          if (answer.status !== 200 && !sql.includes('pipe_')) texts.add(answer.text)
        }
      }
      t.equal(texts.size, 1, [...texts].join('\n'))
    }
  },
)

t.test('a reader is told what is wrong with its own query over filtered rows', async (t) => {
  const { valueWith, as } = await openTokenService(t)
  const reader = as(await valueWith('reader', "DATASOURCES:READ:ev:tenant = 'a'"))
  const answer = await reader('POST', '/v0/sql', 'SELECT nothing FROM ev')
  t.match(answer, { status: 400, json: { error: /nothing/ } })
})

t.test('a token that may write and not read learns no rows by a replace condition or by replays', async (t) => {
  const { service, admin, valueWith, as } = await openTokenService(t)
  const schema = 'id UInt32 `json:$.id`, k UInt8 `json:$.k`, s String `json:$.s`'
  const body = new URLSearchParams({ name: 'rc', schema, engine_partition_key: 'k', engine_sorting_key: 'id' })
  t.equal((await admin('POST', `/v0/datasources?${body}`)).status, 200)
  const rows = '{"id":1,"k":1,"s":"HIDDENCANARY"}\n{"id":"xyz","k":2,"s":"QCANARY"}'
  await admin('POST', '/v0/events?name=rc&wait=true', rows)
  const token = await valueWith('writer', 'DATASOURCES:CREATE:rc')
  const writer = as(token)
  const replace = (condition: string, given: string) => {
    const query = new URLSearchParams({ mode: 'replace', name: 'rc', format: 'ndjson', replace_condition: condition })
    return service.call('POST', `/v0/datasources?${query}`, { token: given, body: '{"id":5,"k":1,"s":"0"}' })
  }
  const failed = await replace('k = 1 AND toUInt8(s) = 0', token)
  t.match(failed, { status: 400, json: { error: /it fails on rows that the token may not read/ } })
  t.notMatch(failed.text, /CANARY|parse/)
  t.match(await replace('k = 1 AND nothing = 0', token), { status: 400, json: { error: /no column|nothing/ } })
  const reader = await valueWith('reader', 'DATASOURCES:CREATE:rc', 'DATASOURCES:READ:rc')
  t.match(await replace('k = 1 AND toUInt8(s) = 0', reader), { status: 400, json: { error: /HIDDENCANARY/ } })
  const replay = (fields: Readonly<Record<string, string>>) =>
    writer('POST', '/v0/datasources/rc/quarantine/replay', new URLSearchParams(fields).toString())
  t.equal((await replay({ condition: "s = 'QCANARY'" })).status, 403)
  t.equal((await replay({ 'fixes.id': 'concat(id, k, s)' })).status, 403)
  const plain = await replay({})
  t.match(plain, { status: 200, json: { failed_rows: 1, failures: [{ samples: [] }] } })
  t.notMatch(plain.text, /CANARY|xyz/)
  t.equal((await replace('k = 1', token)).status, 200, 'it may replace')
})
