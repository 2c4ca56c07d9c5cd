// Renames of data sources, pipes and nodes that others read, through a whole service.

import t from 'tap'
import { errorOf, openPipeService } from '../support/api/pipe-service.ts'
import { SeededRandom, testSeed } from '../support/seeded-random.ts'
import { byTier } from '../support/tier.ts'

const pipes = await openPipeService(t)
const { call, service } = pipes

async function create(name: string, rows = 'x,1\n'): Promise<string> {
  await service.create(name, 'a String, n UInt8')
  await service.append(name, 'csv', rows)
  return ((await call('GET', `/v0/datasources/${name}`)).json as { readonly id: string }).id
}

async function publish(name: string, ...queries: readonly string[]): Promise<void> {
  await pipes.create(name, ...queries)
  const { status, text } = await call('PUT', `/v0/pipes/${name}/endpoint`, { body: `n${queries.length - 1}` })
  if (status !== 200) throw new Error(text)
}

/** What an endpoint answers, without its times. */
async function answer(name: string, query = ''): Promise<unknown> {
  const { status, json } = await call('GET', `/v0/pipes/${name}.json?${query}`)
  const { meta, data } = json as { readonly meta: unknown; readonly data: unknown }
  return { status, meta, data }
}

const sqlOf = async (name: string, node = 0): Promise<string | undefined> => (await pipes.show(name)).nodes[node]?.sql

t.test('a reader by id does not hinder a rename', async (t) => {
  const id = await create('by_id')
  await publish(
    'id_reader',
    `SELECT a FROM ${id}`,
    `SELECT x.a AS a FROM n0 JOIN ${id.replace('t_', 't_label.')} AS x ON 1`,
  )
  await publish('id_branch', `% SELECT 1 AS a {% if defined(x) %} FROM ${id} {% end %}`)
  const before = [await answer('id_reader'), await answer('id_branch', 'x=1'), await sqlOf('id_reader')]
  t.equal((await call('PUT', '/v0/datasources/by_id?name=by_id_now')).status, 200)
  t.same([await answer('id_reader'), await answer('id_branch', 'x=1'), await sqlOf('id_reader')], before)
  t.match(await pipes.show('id_reader'), {
    nodes: [{ dependencies: ['by_id_now'] }, { dependencies: ['n0', 'by_id_now'] }],
  })
  t.match((await call('GET', '/v0/datasources/by_id_now')).json, { used_by: [{ name: 'id_reader' }] })
  t.equal((await call('DELETE', '/v0/datasources/by_id_now')).status, 409, 'and goes on to be kept')
})

t.test('readers by name are renamed along when it is asked for, and answer what they answered', async (t) => {
  await create('old')
  await create('other', 'x,2\n')
  const forms: readonly (readonly [name: string, sql: string, after: string])[] = [
    ['plain', 'SELECT a, n FROM old', 'SELECT a, n FROM fresh'],
    ['quoted', 'SELECT a FROM `old` -- FROM old', 'SELECT a FROM `fresh` -- FROM old'],
    ['aliased', 'SELECT o.a AS a FROM old o', 'SELECT o.a AS a FROM fresh o'],
    ['qualified', 'SELECT old.a, old.* FROM old', 'SELECT old.a, old.* FROM fresh AS old'],
    ['own', 'SELECT old.a AS a FROM old o', 'SELECT fresh.a AS a FROM fresh o'],
    [
      'join',
      'SELECT * FROM other JOIN old ON old.a = other.a',
      'SELECT * FROM other JOIN fresh AS old ON old.a = other.a',
    ],
    ['listed', 'SELECT * FROM other, old', 'SELECT * FROM other, fresh AS old'],
    [
      'column',
      "SELECT s.old, 'old' AS z FROM (SELECT n AS old FROM other) AS s JOIN (SELECT a FROM old) AS q ON 1",
      "SELECT s.old, 'old' AS z FROM (SELECT n AS old FROM other) AS s JOIN (SELECT a FROM fresh AS old) AS q ON 1",
    ],
    [
      'common',
      'WITH old AS (SELECT a FROM old) SELECT a FROM old',
      'WITH old AS (SELECT a FROM fresh AS old) SELECT a FROM old',
    ],
    [
      'member',
      'SELECT a IN old AS i FROM (SELECT tuple(a, n) AS a FROM other)',
      'SELECT a IN fresh AS i FROM (SELECT tuple(a, n) AS a FROM other)',
    ],
    [
      'bracketed',
      "% SELECT a {% if x == 'old' %}, tuple(a, n) IN (old) AS i, `in`(tuple(a, n), (old)) AS j {% end %} FROM other",
      "% SELECT a {% if x == 'old' %}, tuple(a, n) IN (fresh) AS i, `in`(tuple(a, n), (fresh)) AS j {% end %} FROM other",
    ],
    [
      'position',
      "% SELECT position('x' IN old) AS p FROM (SELECT a AS old FROM other)",
      "% SELECT position('x' IN old) AS p FROM (SELECT a AS old FROM other)",
    ],
    ['set_aside', 'SELECT count() AS c FROM old_quarantine', 'SELECT count() AS c FROM fresh_quarantine'],
    ['version', 'SELECT a FROM old__v2', 'SELECT a FROM fresh__v2'],
    ['heredoc', 'SELECT $$ FROM old $$ AS h, a FROM old', 'SELECT $$ FROM old $$ AS h, a FROM fresh'],
    ['spaced', '\n\tSELECT  a /* old */\n FROM\told\n', '\n\tSELECT  a /* old */\n FROM\tfresh\n'],
    ['union', 'SELECT a FROM old UNION ALL SELECT a FROM other', 'SELECT a FROM fresh UNION ALL SELECT a FROM other'],
    [
      'branch',
      "% SELECT a {# old #} {% if x == 'old' %} FROM old {% else %} FROM other {% end %}",
      "% SELECT a {# old #} {% if x == 'old' %} FROM fresh {% else %} FROM other {% end %}",
    ],
    [
      'printed',
      "% SELECT a FROM {{ table('old') }} WHERE a != {{ String(y, 'old') }}",
      "% SELECT a FROM {{ table('fresh') }} WHERE a != {{ String(y, 'old') }}",
    ],
    [
      'chosen',
      "% SELECT a FROM {{ table('old' if defined(x) else 'other') }}",
      "% SELECT a FROM {{ table('fresh' if defined(x) else 'other') }}",
    ],
    [
      'either',
      '% SELECT a FROM {% if defined(x) %} old {% else %} other {% end %} AS o',
      '% SELECT a FROM {% if defined(x) %} fresh {% else %} other {% end %} AS o',
    ],
  ]
  for (const [name, sql] of forms) await publish(`form_${name}`, sql)
  await publish('form_two', 'SELECT a FROM old', 'SELECT n0.a FROM n0 JOIN old ON 1')
  const names = [...forms.map(([name]) => `form_${name}`), 'form_two']
  const answers = () => Promise.all(names.flatMap((name) => [answer(name), answer(name, 'x=old')]))
  const before = await answers()
  const refused = await call('PUT', '/v0/datasources/old?name=fresh')
  t.match(
    [refused.status, errorOf(refused)],
    [409, /used by form_plain, .*or use force=true: the new name is put into/],
  )
  t.equal((await call('PUT', '/v0/datasources/old?name=fresh&force=true')).status, 200)
  for (const [name, , after] of forms) t.equal(await sqlOf(`form_${name}`), after, name)
  t.same(await answers(), before)
  t.same(
    (await pipes.show('form_two')).nodes.map(({ dependencies, version }) => [dependencies, version]),
    [
      [['fresh'], 1],
      [['n0', 'fresh'], 1],
    ],
  )
  t.equal((await call('DELETE', '/v0/datasources/fresh')).status, 409)
  t.equal((await call('PUT', '/v0/datasources/fresh?name=order&force=true')).status, 200, 'a word of the language')
  t.equal(await sqlOf('form_plain'), 'SELECT a, n FROM `order`')
  t.same(await answers(), before)
})

t.test(
  'a reader whose template prints the name in front of a column keeps it as an alias, or is refused',
  async (t) => {
    await create('lo', 'x,2\n')
    const forms: readonly (readonly [sql: string, status: number])[] = [
      ["% SELECT {{ symbol('NAME') }}.a AS c FROM NAME", 200],
      ["% SELECT {{ column('NAME') }}.a AS c FROM NAME", 200],
      ["% SELECT {{ table('NAME') }}.a AS c FROM NAME", 200],
      ["% SELECT {{ table('NAME') }}.a AS c FROM {{ table('NAME') }}", 409],
      ["% SELECT {{ column(c, 'NAME.n') }} AS c FROM NAME", 200],
      ["% SELECT {{ column(c, 'a') }} AS c FROM NAME", 200],
      ["% {% set told = [column(c, 'NAME.n')] %}SELECT {{ told[0] }} AS c FROM NAME", 200],
      ["% SELECT 1 AS c {% for s in split_to_array(c, '') %}, {{ symbol('NAME') }}.a AS d {% end %} FROM NAME", 200],
      ["% SELECT 1 AS c {% for s in split_to_array(c, '') %}, NAME.a AS d {% end %} FROM NAME", 200],
      ["% SELECT count() AS c FROM NAME {% if defined(c) %} WHERE {{ symbol('NAME') }}.a = 'x' {% end %}", 200],
    ]
    for (const [index, [text, status]] of forms.entries()) {
      const source = `told_${index}`
      await create(source)
      await publish(`teller_${index}`, text.replaceAll('NAME', source))
      const answers = () => Promise.all(['', 'c=a', `c=${source}.a`].map((query) => answer(`teller_${index}`, query)))
      const before = await answers()
      const renamed = await call('PUT', `/v0/datasources/${source}?name=${source}_new&force=true`)
      t.equal(renamed.status, status, `${text} ${renamed.text}`)
      t.same(await answers(), before, text)
    }
  },
)

t.test(
  'a rename of what very long templates read gives others their turn, or is refused with the reason',
  async (t) => {
    await create('wide')
    const branch = (index: number, length: number) =>
      `{% if defined(z${index}) %} AND ${Array.from({ length }, (_, at) => at).join('+')} > 0 {% end %}`
    const branches = (count: number, length: number) =>
      Array.from({ length: count }, (_, index) => branch(index, length)).join('')
    await pipes.create('long_reader', `% SELECT n FROM wide WHERE 1 ${branches(99, 250)}`)
    const rename = (query: string) => call('PUT', `/v0/datasources/wide?name=wider${query}`)
    const unforced = await rename('')
    t.match([unforced.status, errorOf(unforced)], [409, /is used by long_reader; .* or use force=true/])
    const forced = await rename('&force=true')
    t.match([forced.status, errorOf(forced)], [409, /'long_reader' has too many branches, with too much SQL/])
    await call('DELETE', '/v0/pipes/long_reader')
    await pipes.create(
      'many',
      'SELECT 1 AS n',
      ...Array.from({ length: 3 }, () => `% SELECT n FROM n0 WHERE 1 ${branches(20, 20)}`),
    )
    let turns = 0
    const counted = setInterval(() => (turns += 1), 1)
    t.equal((await call('PUT', '/v0/pipes/many/nodes/n0?name=first&force=true')).status, 200)
    clearInterval(counted)
    t.ok(turns > 4, `others had ${turns} turns`)
  },
)

t.test('pipes and nodes are renamed along too', async (t) => {
  await pipes.create('base', 'SELECT 1 AS x')
  await publish(
    'over',
    'SELECT x FROM base',
    '% SELECT x FROM n0 {% if defined(y) %} WHERE x IN base {% end %}',
    'SELECT n1.x AS y FROM n1',
  )
  const before = [await answer('over'), await answer('over', 'y=1')]
  t.equal((await call('PUT', '/v0/pipes/base?name=bottom')).status, 409)
  t.match((await call('PUT', '/v0/pipes/base?name=bottom&force=true')).json, { name: 'bottom' })
  const node = (query: string) => call('PUT', `/v0/pipes/over/nodes/n1?${query}`)
  const refused = await node('name=middle')
  t.match([refused.status, errorOf(refused)], [409, /"n1" is used by n2; change those first, or use force=true/])
  t.equal((await node('name=middle&force=true')).status, 200)
  t.match(await pipes.show('over'), {
    nodes: [
      { sql: 'SELECT x FROM bottom', dependencies: ['bottom'] },
      { name: 'middle', sql: '% SELECT x FROM n0 {% if defined(y) %} WHERE x IN bottom {% end %}' },
      { sql: 'SELECT n1.x AS y FROM middle AS n1', dependencies: ['middle'] },
    ],
  })
  t.same([await answer('over'), await answer('over', 'y=1')], before)
  const taken = await call('PUT', '/v0/pipes/over/nodes/n0?name=bottom&force=true')
  t.match([taken.status, errorOf(taken)], [409, /"n0" is used by middle; .* would read something else/], 'in a branch')
})

t.test('a pipe that its own nodes read is renamed with them', async (t) => {
  const nodes = [
    { name: 'answers', sql: 'SELECT 1 AS x', type: 'endpoint' },
    { name: 'behind', sql: 'SELECT x + 1 AS y FROM circled' },
  ]
  t.equal((await call('POST', '/v0/pipes', { body: JSON.stringify({ name: 'circled', nodes }) })).status, 200)
  t.equal((await call('PUT', '/v0/pipes/circled?name=turned')).status, 409)
  t.match(await call('PUT', '/v0/pipes/circled?name=turned&force=true'), { status: 200, json: { name: 'turned' } })
  t.match(await pipes.show('turned'), {
    nodes: [{ name: 'answers' }, { sql: 'SELECT x + 1 AS y FROM turned', dependencies: ['turned'] }],
  })
})

t.test('what cannot be renamed with certainty is refused, with the node and the reason', async (t) => {
  const cases: readonly (readonly [name: string, sql: string, reason: RegExp])[] = [
    ['value', "% {% set s = 'NAME' %} SELECT a FROM {{ table(s) }}", /takes the name from a value when it runs/],
    [
      'made',
      "% SELECT a FROM {{ table(x, 'other') }} {% if z == 'q' %} JOIN NAM{{ table(x) }} ON 1 {% end %}",
      /makes the name when it runs/,
    ],
    ['enum', "% SELECT a FROM {{ table(String(x, 'other', enum=['NAME'])) }}", /takes the name from a value/],
    ['unnamed', 'SELECT tuple(a, n) IN NAME FROM other', /columns of another name/],
    ['taken', 'WITH NEW AS (SELECT 1 AS b) SELECT a FROM NAME', /would read something else/],
    ['some', '% SELECT NAME.a FROM NAME {% if x %} AS NAME {% end %}', /would read something else/],
  ]
  for (const [name, text, reason] of cases) {
    const source = `firm_${name}`
    await create(source)
    const sql = text.replaceAll('NAME', source).replaceAll('NAM', source.slice(0, -1)).replaceAll('NEW', `new_${name}`)
    await pipes.create(`keeper_${name}`, sql)
    const refused = await call('PUT', `/v0/datasources/${source}?name=new_${name}&force=true`)
    t.match([refused.status, errorOf(refused)], [409, new RegExp(`node 'n0' of 'keeper_${name}'`)], name)
    t.match(errorOf(refused), reason, name)
    t.equal(await sqlOf(`keeper_${name}`), sql, name)
  }
  await create('shadowed')
  await pipes.create('shadow', 'SELECT 1 AS a', 'SELECT a FROM shadowed')
  const hidden = await call('PUT', '/v0/datasources/shadowed?name=n0&force=true')
  t.match([hidden.status, errorOf(hidden)], [409, /node 'n1' of 'shadow' would read something else/])
  t.equal((await call('PUT', '/v0/pipes/shadow/nodes/n0?name=shadowed&force=true')).status, 409)
})

t.test('edits of readers at the same time lose nothing', async (t) => {
  await create('raced_0')
  await publish('racer', 'SELECT a FROM raced_0', 'SELECT a FROM n0')
  for (let round = 0; round < 8; round += 1) {
    const [renamed, edited] = await Promise.all([
      call('PUT', `/v0/datasources/raced_${round}?name=raced_${round + 1}&force=true`),
      call('PUT', '/v0/pipes/racer/nodes/n1', { body: `SELECT a, ${round} AS r FROM n0` }),
      call('PUT', `/v0/pipes/racer?description=round+${round}`),
    ])
    t.same([renamed.status, edited.status], [200, 200], `round ${round}`)
    t.equal(await sqlOf('racer', 0), `SELECT a FROM raced_${round + 1}`)
    t.match(await answer('racer'), { status: 200, data: [{ a: 'x', r: round }] })
    t.match(await pipes.show('racer'), { description: `round ${round}` })
  }
})

t.test('random queries answer the same when what they read has another name', async (t) => {
  const seed = testSeed()
  const random = new SeededRandom(seed)
  t.comment(`SEED=${seed}`)
  await create('s0', 'x,1\ny,2\n')
  await create('s1', 'y,3\nz,4\n')
  const count = byTier({ quick: 24, full: 50, soak: 2_000 })
  const known = new Map<string, string>()
  const values = ['', 'c=1', 'd=1', 'c=1&d=1']
  const answers = (name: string) => Promise.all(values.map((value) => answer(name, value)))
  for (let index = 0; index < count; index += 1) {
    const name = `random_${index}`
    const sql = randomSql(random)
    const body = JSON.stringify({ nodes: [{ name: 'n', sql, type: 'endpoint' }] })
    const { status } = await call('POST', `/v0/pipes?name=${name}`, { body })
    if (status === 200) known.set(name, JSON.stringify(await answers(name)))
  }
  const madeCount = known.size
  const steps = ['s0 first', 's1 s0', 'first b', 's0 c', 'b s0', 'c s1']
  for (const step of steps) {
    const [from, to] = step.split(' ')
    let renamed = await call('PUT', `/v0/datasources/${from}?name=${to}&force=true`)
    // Those that cannot be renamed are told one by one.
    while (renamed.status === 409) {
      const name = /node 'n' of '(\w+)'/.exec(errorOf(renamed))?.[1] ?? ''
      if (!known.delete(name)) throw new Error(renamed.text)
      await call('DELETE', `/v0/pipes/${name}`)
      renamed = await call('PUT', `/v0/datasources/${from}?name=${to}&force=true`)
    }
    t.equal(renamed.status, 200, step)
    for (const [name, before] of known) {
      const after = JSON.stringify(await answers(name))
      if (after !== before) t.equal(after, before, `${step}: ${await sqlOf(name)}`)
    }
  }
  t.ok(known.size > madeCount / 2, `${known.size} of ${madeCount} could be renamed`)
})

function randomSql(random: SeededRandom): string {
  const when = (text: string, other: string): string => {
    const choice = random.below(5)
    if (choice > 1) return text
    return `{% if defined(${choice === 0 ? 'c' : 'd'}) %}${text}{% else %}${other}{% end %}`
  }
  const source = (): string =>
    when(random.pick(['s0', 's1', '`s0`', '"s1"', "{{ table('s0') }}"]), random.pick(['s0', 's1']))
  const column = (): string =>
    random.pick([
      'a',
      'n',
      't.a',
      't.*',
      's0.a',
      's1.n',
      'count() OVER () AS w',
      "'s0' AS s",
      '(SELECT max(n) FROM s1) AS m',
      'n IN (SELECT n FROM s0) AS i',
      'a AS s0',
      'a AS b',
    ])
  const from = random.pick([
    source(),
    `${source()} AS t`,
    `${source()} t JOIN ${source()} AS u ON t.a = u.a`,
    `s0 JOIN s1 ON ${random.pick(['1', 's0.n < s1.n'])}`,
    's0, s1',
    `(SELECT a, n FROM ${source()}) AS t`,
    's0 t',
  ])
  const common = random.below(5) === 0 ? `WITH ${random.pick(['s0', 'w'])} AS (SELECT * FROM ${source()}) ` : ''
  const where = when(random.pick(['', ' WHERE n > 1', ' -- s0\n', ' WHERE n IN (SELECT n FROM s1)']), '')
  return `% ${common}SELECT ${column()}, ${column()} FROM ${from}${where} ORDER BY ALL`
}

t.test('what is read past an earlier node of its name is renamed along', async (t) => {
  const nodesOf = (read: string, name: string) => [
    { name, sql: 'SELECT 7 AS seven' },
    { name: 'e', sql: `SELECT count() AS c FROM ${read}`, type: 'endpoint' },
  ]
  const make = async (pipe: string, nodes: readonly object[]): Promise<void> => {
    const { status, text } = await call('POST', '/v0/pipes', { body: JSON.stringify({ name: pipe, nodes }) })
    if (status !== 200) throw new Error(text)
  }
  const id = await create('past')
  await make('past_version', nodesOf('past__v1', 'past'))
  await make('past_id', nodesOf(id, 'past'))
  await make('past_both', [
    { name: 'past', sql: 'SELECT 7 AS seven' },
    { name: 'e', sql: `SELECT a, seven FROM ${id} AS z, past`, type: 'endpoint' },
  ])
  await make('past_set_aside', nodesOf(`${id}_quarantine`, 'past_quarantine'))
  await make('past_node', nodesOf('past', 'past'))
  const names = ['past_version', 'past_id', 'past_both', 'past_set_aside', 'past_node']
  const answers = async () => await Promise.all(names.map((name) => answer(name)))
  const before = await answers()
  const refused = await call('PUT', '/v0/datasources/past?name=beyond')
  t.match([refused.status, errorOf(refused)], [409, /"past" is used by past_version; let them read/])
  t.equal((await call('PUT', '/v0/datasources/past?name=beyond&force=true')).status, 200)
  t.same(await answers(), before)
  const dependencies = await Promise.all(names.map(async (name) => (await pipes.show(name)).nodes[1]?.dependencies))
  t.same(dependencies, [['beyond'], ['beyond'], ['beyond', 'past'], ['beyond_quarantine'], ['past']])
  t.match((await call('GET', '/v0/datasources/beyond')).json, {
    used_by: names.slice(0, 4).map((name) => ({ name })),
  })
  t.equal((await call('DELETE', '/v0/datasources/beyond')).status, 409)
  t.equal((await call('PUT', '/v0/datasources/beyond?name=past&force=true')).status, 200, 'and back')
  t.same(await answers(), before)
  t.same((await pipes.show('past_both')).nodes[1]?.dependencies, ['past'])
  t.equal((await call('PUT', '/v0/pipes/past_both/nodes/past?name=kept&force=true')).status, 200)
  t.same((await pipes.show('past_both')).nodes[1]?.dependencies, ['kept', 'past'])
  t.match((await call('GET', '/v0/datasources/past')).json, { used_by: names.slice(0, 4).map((name) => ({ name })) })
})

t.test('pipes that are read past an earlier node of their name are renamed along', async (t) => {
  await publish('far', 'SELECT 1 AS x')
  const body = JSON.stringify({
    name: 'far_reader',
    nodes: [
      { name: 'far', sql: 'SELECT 2 AS y' },
      { name: 'e', sql: 'SELECT x FROM far__v4', type: 'endpoint' },
    ],
  })
  t.equal((await call('POST', '/v0/pipes', { body })).status, 200)
  const before = await answer('far_reader')
  t.equal((await call('PUT', '/v0/pipes/far?name=farther')).status, 409)
  t.equal((await call('PUT', '/v0/pipes/far?name=farther&force=true')).status, 200)
  t.same(await answer('far_reader'), before)
  t.equal((await call('DELETE', '/v0/pipes/farther')).status, 409)
})
