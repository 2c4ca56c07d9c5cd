// Values that a token sets for the parameters of a pipe.

import t from 'tap'
import { adminScope } from '../../src/access/admin-scope.ts'
import { createReadScope } from '../../src/access/read-scope.ts'
import type { FixedValue, ReadScope } from '../../src/sql/read-scope.types.ts'
import { openFilteredQuery } from '../support/query/filtered-query.ts'
import { idOf } from '../support/query/test-workspace.ts'

const { store, workspace, query, read } = await openFilteredQuery(t, { responseCacheBytesMax: 1_000_000 })
workspace.addPipe('who', { all: "% SELECT {{String(tenant, 'nobody')}} AS t, {{String(extra, '-')}} AS e" }, 'all')
workspace.addPipe('other', { all: "% SELECT {{String(tenant, 'nobody')}} AS t" }, 'all')
workspace.addPipe('over', { mid: 'SELECT * FROM who', all: '% SELECT t, e, {{defined(tenant)}} AS d FROM mid' }, 'all')
workspace.addPipe('kept', { all: "% {{cache_ttl('1h')}} SELECT {{String(tenant, 'nobody')}} AS t" }, 'all')
workspace.addPipe('list', { all: "% SELECT {{Array(ids, 'Int32', '7')}} AS l" }, 'all')

function scope(fixed: Readonly<Record<string, Readonly<Record<string, FixedValue>>>>): ReadScope {
  const byPipe = new Map(Object.entries(fixed).map(([pipe, values]) => [idOf(pipe), new Map(Object.entries(values))]))
  return createReadScope({
    ...adminScope,
    signature: JSON.stringify(fixed),
    seesAll: false,
    fixedParametersOf: (id) => byPipe.get(id) ?? null,
  })
}
async function ask(
  sql: string,
  readScope: ReadScope,
  values: Readonly<Record<string, FixedValue>> = {},
  pipeline: string | null = null,
) {
  const { signal } = new AbortController()
  const parameters = new Map(Object.entries(values))
  const chunks: Uint8Array[] = []
  const request = { sql, pipeline, format: 'CSV', parameters, settings: {}, readScope, signal }
  for await (const chunk of (await query.run(request)).body) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}
const values = (given: Readonly<Record<string, FixedValue>>) => new Map(Object.entries(given))
const asA = scope({ who: { tenant: 'a' } })

t.test('a fixed value goes before that of the request, and others stay free', async (t) => {
  for (const sent of [{}, { tenant: 'b' }, { tenant: '' }, { tenant: null }, { tenant: ['b', 'c'] }, { tenant: 7 }]) {
    t.equal((await read({ pipe: 'who', readScope: asA, parameters: values(sent) })).toString(), '"a","-"\n')
    const sql = 'SELECT t FROM _'
    t.equal((await read({ pipe: 'who', sql, readScope: asA, parameters: values(sent) })).toString(), '"a"\n')
    t.equal(await ask('SELECT t FROM who', asA, sent), '"a"\n')
  }
  t.equal((await read({ pipe: 'who', readScope: asA, parameters: values({ extra: 'x' }) })).toString(), '"a","x"\n')
  t.equal(await ask('% SELECT {{String(tenant)}}, t FROM _', asA, { tenant: 'b' }, 'who'), '"a","a"\n')
  t.equal(
    (
      await read({ pipe: 'who', readScope: scope({ who: { tenant: null } }), parameters: values({ tenant: 'b' }) })
    ).toString(),
    '"nobody","-"\n',
  )
  t.equal(
    (
      await read({ pipe: 'list', readScope: scope({ list: { ids: [1, 2] } }), parameters: values({ ids: '9' }) })
    ).toString(),
    '"[1,2]"\n',
  )
})

t.test('it holds for all pipes below, and each pipe that is named has its own', async (t) => {
  t.equal(
    (
      await read({ pipe: 'over', readScope: scope({ over: { tenant: 'o' } }), parameters: values({ tenant: 'b' }) })
    ).toString(),
    '"o","-",true\n',
  )
  const two = scope({ who: { tenant: 'a' }, other: { tenant: 'b' } })
  t.equal(await ask('SELECT who.t, other.t FROM who, other', two, { tenant: 'z' }), '"a","b"\n')
  t.equal(
    await ask('SELECT w.t, o.t FROM who AS w, over AS o', scope({ over: { tenant: 'o' } }), { tenant: 'z' }),
    '"z","o"\n',
  )
  const both = scope({ who: { tenant: 'a' }, over: { tenant: 'o' } })
  t.equal(await ask('SELECT w.t, o.t FROM who AS w, over AS o', both, {}), '"a","o"\n', 'the pipe that is entered wins')
  t.equal(await ask('SELECT t, d FROM over', asA, { tenant: 'z' }), '"a",true\n', 'a pipe keeps its own below another')
})

t.test('what is kept never mixes values', async (t) => {
  const asB = scope({ kept: { tenant: 'b' } })
  const asC = scope({ kept: { tenant: 'c' } })
  for (let round = 0; round < 2; round += 1) {
    t.equal((await read({ pipe: 'kept', readScope: asB })).toString(), '"b"\n')
    t.equal((await read({ pipe: 'kept', readScope: asC })).toString(), '"c"\n')
    t.equal((await read({ pipe: 'kept', readScope: adminScope })).toString(), '"nobody"\n')
    t.equal(await ask('SELECT t FROM who', asA), '"a"\n')
    t.equal(await ask('SELECT t FROM who', adminScope), '"nobody"\n')
  }
})

t.test('a fixed value is no unused parameter', async (t) => {
  const { signal } = new AbortController()
  const request = { pipe: 'who', sql: null, format: 'CSV', settings: {}, signal }
  const readScope = scope({ who: { tenant: 'a', nobody_reads: 1 } })
  const answer = await query.readPipe({ ...request, readScope, parameters: values({ tenant: 'b', odd: 1 }) })
  t.same(answer.unusedParameters, ['odd'])
})

t.test('a query over a pipe whose parameter is fixed is told nothing of the rows of other values', async (t) => {
  for (const [name, hidden] of [
    ['few', "SELECT 'SECRETT', 'SECRETS', -3 FROM numbers(3)"],
    ['many', "SELECT concat('SECRET', toString(number % 9)), 'SECRETZ', number - 500 FROM numbers(9000)"],
  ] as const) {
    const { id } = workspace.addDataSource(name, 'tenant String, s String, n Int32')
    await store.command(`CREATE TABLE ws_0001.${id} (tenant String, s String, n Int32) ENGINE = MergeTree ORDER BY n`)
    await store.command(
      `INSERT INTO ws_0001.${id} SELECT 'a', toString(number), number FROM numbers(20) UNION ALL ${hidden}`,
    )
    workspace.addPipe(
      `of_${name}`,
      { all: `% SELECT * FROM ${name} WHERE tenant = {{String(tenant, 'a')}} AND n > {{Int32(low, -9)}}` },
      'all',
    )
    workspace.addPipe(`top_${name}`, { all: `SELECT * FROM of_${name} ORDER BY n LIMIT 5` }, 'all')
  }
  const fixed = { tenant: 'a' }
  const readScope = scope({ of_few: fixed, of_many: fixed, top_few: fixed, top_many: fixed })
  for (const pipe of ['of', 'top']) {
    for (const sql of [
      null,
      'SELECT count() FROM _ WHERE toUInt64(s) >= 0',
      'SELECT sum(intDiv(100, n + 3)) FROM _',
      "SELECT max(n) FROM _ WHERE throwIf(startsWith(s, 'SECRET')) = 0",
      'SELECT toUInt8(concat(s, tenant)) FROM _',
    ]) {
      const tell = async (name: string): Promise<string> => {
        const asked = {
          pipe: `${pipe}_${name}`,
          sql,
          readScope,
          format: 'JSON',
          parameters: values({ tenant: 'SECRETT' }),
        }
        const told = await read(asked).catch((thrown: unknown) => thrown)
        return String(told)
          .replaceAll(name, '@')
          .replace(/"elapsed": [\d.e-]+/, '')
      }
      const told = await tell('few')
      t.equal(await tell('many'), told, `${pipe} ${sql}`)
      t.notMatch(told, /SECRET/)
      if (sql?.includes('concat') !== true) t.match(told, /"rows": \d+/)
    }
  }
  const { signal } = new AbortController()
  const explained = { pipe: 'of_few', node: null, parameters: values({}), readScope, signal }
  await t.rejects(query.explain(explained), { code: 'SQL_INVALID' })
})
