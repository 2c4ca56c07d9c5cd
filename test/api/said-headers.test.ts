import t from 'tap'
import { type Answer, openTestService } from '../support/api/test-service.ts'

const service = await openTestService(t)
let count = 0

async function load(body: string, said: string, schema?: string): Promise<Answer & { readonly name: string }> {
  count += 1
  const name = `h${count}`
  if (schema !== undefined) await service.create(name, schema)
  const parameters = new URLSearchParams({ name, mode: schema === undefined ? 'create' : 'append', format: 'csv' })
  if (said !== '') parameters.set('dialect_has_header', said)
  return { ...(await service.call('POST', `/v0/datasources?${parameters}`, { body })), name }
}

t.test('a CSV that makes a data source has the header that its sender says it has', async (t) => {
  const cases = [
    { body: 'red,blue\ngreen,white\n', said: 'false', columns: 'column_1,column_2', rows: 2 },
    { body: 'red,blue\ngreen,white\n', said: 'true', columns: 'red,blue', rows: 1 },
    { body: 'red,blue\ngreen,white\n', said: '', columns: 'red,blue', rows: 1 },
    { body: '1,2\n3,4\n', said: 'true', columns: '_1,_2', rows: 1 },
    { body: '1,2\n3,4\n', said: '0', columns: 'column_1,column_2', rows: 2 },
    { body: 'a,a\nb,b\na,a\n', said: 'TRUE', columns: 'a,a_2', rows: 2 },
    { body: 'n,s\n1,x\n', said: 'false', columns: 'column_1,column_2', rows: 2 },
    { body: 'n,s\n', said: 'false', columns: 'column_1,column_2', rows: 1 },
  ]
  for (const { body, said, columns, rows } of cases) {
    const answer = await load(body, said)
    const name = `${JSON.stringify(body)} ${said}`
    t.match(answer, { status: 200, json: { error: false, imported_rows: rows } }, name)
    const described = await service.rows(`SELECT * FROM ${answer.name}`)
    t.equal(described.length, rows, name)
    const told = answer.json as { readonly datasource: { readonly schema: { readonly columns: { name: string }[] } } }
    t.equal(told.datasource.schema.columns.map((column) => column.name).join(), columns, name)
  }
})

t.test('an append reads the header that its sender says it has, by its names where it knows them', async (t) => {
  const schema = 'a String, b String, c String'
  const cases = [
    // Two names of columns at other places are an unclear header, unless there is none.
    { body: 'b,a,x\n1,2,3\n', said: 'false', rows: ['b a x', '1 2 3'] },
    { body: 'c,b,a\n1,2,3\n', said: 'false', rows: ['c b a', '1 2 3'] },
    { body: 'c,b,a\n1,2,3\n', said: 'true', rows: ['3 2 1'] },
    { body: 'x,y,z\n1,2,3\n', said: 'true', rows: ['1 2 3'] },
    { body: ',,\n1,2,3\n', said: 'true', rows: ['1 2 3'] },
    { body: 'x,y,z\n1,2,3\n', said: '', rows: ['x y z', '1 2 3'] },
    { body: 'a,b,z\n1,2,3\n', said: 'true', rows: ['1 2 3'] },
    { body: 'a,b,c\n', said: 'false', rows: ['a b c'] },
    { body: 'a,b,c', said: 'false', rows: ['a b c'] },
    { body: '"x\ny",b1,z\n1,2,3\n', said: 'true', rows: ['1 2 3'] },
  ]
  for (const { body, said, rows } of cases) {
    const answer = await load(body, said, schema)
    const name = `${JSON.stringify(body)} ${said}`
    t.match(answer, { status: 200, json: { error: false, imported_rows: rows.length } }, name)
    t.same(
      (await service.rows(`SELECT * FROM ${answer.name}`)).map((row) => row.join(' ')).sort(),
      [...rows].sort(),
      name,
    )
  }
  t.match(await load('b,a,x\n1,2,3\n', '', schema), { status: 400 }, 'without a word it is unclear')
  t.match(await load('a,b,c\n', 'maybe', schema), { status: 400, json: { error: /dialect_has_header/ } })
})

t.test('analyze and a dry run are told too', async (t) => {
  const body = 'red,blue\ngreen,white\n'
  for (const [said, header] of [
    ['true', 1],
    ['false', 0],
  ] as const) {
    const dry = await service.call('POST', `/v0/datasources?name=x&dry=true&dialect_has_header=${said}`, { body })
    t.match(dry, { status: 200, json: { dialect: { has_header: header } } }, said)
    const analyzed = await service.call('POST', `/v0/analyze?format=csv&dialect_has_header=${said}`, { body })
    t.match(analyzed, { status: 200, json: { preview: { rows: header === 1 ? 1 : 2 } } }, said)
  }
})
