// CSV whose first line names some of the columns, and not all of them.

import { gzipSync } from 'node:zlib'
import { compress } from '@mongodb-js/zstd'
import t from 'tap'
import { type Answer, openTestService } from '../support/api/test-service.ts'
import { packedMember, zipEnd } from '../support/zip-archive.ts'

const service = await openTestService(t)
const schema = "id UInt32, user_name String, score Nullable(Float64), note String DEFAULT 'none'"

async function load(body: string, columns = schema): Promise<Answer> {
  await service.call('DELETE', '/v0/datasources/partial?force=true')
  await service.create('partial', columns)
  return await service.append('partial', 'csv', body)
}

t.test('a header with some of the names is skipped, and the fields are read by their position', async (t) => {
  const bodies = [
    // Names that no column has take the column at their place.
    [
      'id,user_name,points,remark\n1,a,0.5,x\n',
      '1 a 0.5 x',
      /2 of the 4 column names.*"points", "remark".*by position/,
    ],
    ['id,name,score,remark\n1,a,0.5,x\n', '1 a 0.5 x', /by position/],
    ['name,user_name,score,\n1,a,0.5,x\n', '1 a 0.5 x', /by position/],
    ['ID, User Name ,2025,2026\n1,a,0.5,x\n', '1 a 0.5 x', /by position/],
    // Columns without a field take their DEFAULT, and fields behind the last column are passed over.
    ['id,user_name\n1,a\n', '1 a \\N none', /2 of the 4 column names.*"score", "note"/],
    ['id,user_name,score\n1,a,\n', '1 a \\N none', /3 of the 4 column names/],
    ['id,user_name,score,remark,extra\n1,a,0.5,x,y\n', '1 a 0.5 x', /3 of the 4 column names/],
    ['\n\r\nid;user_name;points;note\n1;a;0.5;x\n', '1 a 0.5 x', /3 of the 4 column names/],
  ] as const
  for (const [body, row, warning] of bodies) {
    const answer = await load(body)
    const counts = { error: false, imported_rows: 1, quarantine_rows: 0, invalid_lines: 0 }
    t.match(answer, { status: 200, json: { ...counts, warnings: [warning] } }, body)
    t.same(await service.rows('SELECT * FROM partial'), [row.split(' ')], body)
  }
  for (const body of ['note,score,user_name,id\nx,0.5,a,1\n', '1,a,0.5,x\n']) {
    t.notOk(Object.hasOwn((await load(body)).json as object, 'warnings'), `${body} is read without a warning`)
    t.same(await service.rows('SELECT * FROM partial'), [['1', 'a', '0.5', 'x']], body)
  }
})

t.test('a header whose names stand at other places, or that knows too few, is refused as a whole', async (t) => {
  const bodies = [
    ['id,score\n1,0.5\n', /names 2 of the 4 columns.*"score" is field 2 and column 3/],
    ['user_name,id,points,remark\na,1,0.5,x\n', /names 2 of the 4 columns.*"user_name" is field 1 and column 2/],
    ['extra,id,user_name,score\ny,1,a,0.5\n', /"id" is field 2 and column 1/],
    ['id,name,points,remark\n1,a,0.5,x\n', /names 1 of the 4 columns.*fewer than half/],
    ['id,user_name,a,b,c\n1,a,0.5,x,y\n', /names 2 of the 4 columns.*fewer than half/],
  ] as const
  for (const [body, error] of bodies) {
    const answer = await load(body)
    t.match(answer, { status: 400, json: { error, hint: /id, user_name, score, note/ } }, body)
    t.equal(await service.count('partial'), 0, body)
    t.equal(await service.count('partial_quarantine'), 0, body)
  }
})

t.test('a first row that may be data is data', async (t) => {
  const texts = 'kind String, name String, value String'
  const bodies = [
    [schema, '1,score,0.5,note\n', 1, 0],
    [schema, 'id,a,2,b\n2,a,0.5,x\n', 1, 1],
    ['a String, b String, n Int32', 'b,a,5\n', 1, 0],
    ['a String, b String, n Int32', 'a,b,5\n', 1, 0],
    ['a String, day Date', 'a,2026-01-02\n', 1, 0],
    ['a String, b String', 'a,x\n', 1, 0],
    [texts, 'kind,x,y\n', 1, 0],
    // What stands below in the same column is no name.
    [texts, 'name,value,1\nname,value,2\nkind,value,3\n', 3, 0],
    [texts, 'kind,name,1\nx,y,2\nkind,z,3\n', 3, 0],
  ] as const
  for (const [columns, body, stored, quarantined] of bodies) {
    const answer = await load(body, columns)
    t.match(answer, { status: 200, json: { imported_rows: stored, quarantine_rows: quarantined } }, body)
    t.notOk(Object.hasOwn(answer.json as object, 'warnings'), body)
  }
})

t.test('a first line whose quotes are wrong is an invalid line, and takes no rows with it', async (t) => {
  const columns = 'id Int32, city String, n Int32'
  const bodies = [
    ['zz,"city"x,n\n1,a,2\n', ['1 a 2'], 1],
    ['id,city,"n\n1,a,2\n2,b,"3"\n3,c,4\n', ['3 c 4'], 1],
    ['id,"city,n\n1,a,2\n2,b,3\n', ['1 a 2', '2 b 3'], 1],
    ['"id,city,n\n1,a,2\n2,b,3\n', ['1 a 2', '2 b 3'], 1],
    ['id,city,"n\n1,a,2\n2,b,3\n', ['1 a 2', '2 b 3'], 1],
    ['"id"x,zz,n\n1,a,2\n', ['1 a 2'], 1],
    ['1,"city,n\n1,a,2\n', ['1 a 2'], 1],
    ['id,zz,"n" n\r\n1,a,2\r\n', ['1 a 2'], 1],
    // All names are there: their order is taken, and the line is kept all the same.
    ['n,"city"x,id\n2,a,1\n', ['1 a 2'], 1],
    ['n,"city" ,id\n2,a,1\n', ['1 a 2'], 0],
    ['\n"id"x,"city"y,"n"z\n1,a,2\n', ['1 a 2'], 1],
  ] as const
  for (const [body, rows, invalid] of bodies) {
    const answer = await load(body, columns)
    const counts = { imported_rows: rows.length, invalid_lines: invalid }
    t.match(answer, { status: 200, json: counts }, body)
    t.same(
      (await service.rows('SELECT * FROM partial ORDER BY id')).map((row) => row.join(' ')),
      rows,
      body,
    )
    t.equal(await service.count('partial_quarantine').catch(() => 0), invalid, body)
  }
  // Names and a row between two stray quotes that close each other: a row with its text in the quarantine.
  t.match(await load('id,"city\n1,a",2\n3,c,4\n', columns), { json: { imported_rows: 1, quarantine_rows: 1 } })
  for (const [body, rowCount] of [
    ['id,city,"n\n1,a,2\n2,b,"3"\n3,c,4\n', 1],
    ['zz,"city"x,n\n1,a,2\n', 1],
  ] as const) {
    await service.call('DELETE', '/v0/datasources/partial?force=true')
    const answer = await service.call('POST', '/v0/datasources?name=partial&format=csv', { body })
    t.match(answer, { status: 200, json: { imported_rows: rowCount, invalid_lines: 1 } }, `created: ${body}`)
    await service.call('DELETE', '/v0/datasources/partial?force=true')
  }
})

t.test('it is so in all ways in which rows come', async (t) => {
  const partial = 'id,user_name,points,note\n1,a,0.5,x\n'
  const misplaced = 'user_name,id,points,note\na,1,0.5,x\n'
  const packings: readonly (readonly [string, (text: string) => Promise<RequestInit>])[] = [
    ['raw', async (body) => ({ body })],
    ['form', async (text) => ({ body: formOf(Buffer.from(text), 'rows.csv') })],
    ['gzip by the header', async (text) => ({ body: gzipSync(text), headers: { 'content-encoding': 'gzip' } })],
    ['gzip', async (text) => ({ body: gzipSync(text) })],
    ['zstd in a form', async (text) => ({ body: formOf(await compress(Buffer.from(text)), 'rows.csv.zst') })],
    ['zip', async (text) => ({ body: Buffer.concat([packedMember('rows.csv', Buffer.from(text)), zipEnd]) })],
  ]
  const orders = {
    append: 'mode=append',
    replace: 'mode=replace',
    'conditional replace': 'mode=replace&replace_condition=id%3D1',
    create: `schema=${encodeURIComponent(schema)}`,
    'append that creates': `mode=append&schema=${encodeURIComponent(schema)}`,
    'append with progress': 'mode=append&progress=true',
  }
  for (const [index, [packing, pack]] of packings.entries()) {
    for (const [mode, order] of Object.entries(orders).filter((_, at) => index === 0 || at === index - 1)) {
      const isNew = order.includes('schema=')
      const name = `way_${packing}_${mode}`.replaceAll(' ', '_')
      const send = async (text: string): Promise<Answer> => {
        // A FormData, text or bytes, each of which a call takes.
        const call = (await pack(text)) as { body: string; headers?: Record<string, string> }
        return await service.call('POST', `/v0/datasources?name=${name}&${order}`, call)
      }
      const old = { engine: 'MergeTree', engine_sorting_key: 'id', engine_partition_key: 'id' }
      if (!isNew) await service.create(name, schema, old)
      if (!isNew) await service.append(name, 'csv', '1,old,,\n')
      const refused = await send(misplaced)
      if (mode.includes('progress')) t.match(JSON.parse(refused.text.trim().split('\n').at(-1) ?? ''), { status: 400 })
      else t.match(refused, { status: 400, json: { error: /"user_name" is field 1 and column 2/ } }, name)
      if (isNew) t.equal((await service.call('GET', `/v0/datasources/${name}`)).status, 404, `${name} was not made`)
      else t.same(await service.rows(`SELECT user_name FROM ${name}`), [['old']], `${name} is as it was`)
      const taken = await send(partial)
      t.match(taken.status, 200, name)
      t.match(JSON.parse(taken.text.trim().split('\n').at(-1) ?? ''), { warnings: [/by position/] }, name)
      const rows = await service.rows(`SELECT user_name FROM ${name} ORDER BY ALL`)
      t.same(rows, mode.startsWith('append') && !isNew ? [['a'], ['old']] : [['a']], name)
    }
  }
})

function formOf(file: Uint8Array, fileName: string): FormData {
  const form = new FormData()
  form.append('csv', new Blob([Uint8Array.from(file)]), fileName)
  return form
}
