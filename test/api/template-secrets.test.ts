// Functions of templates quote what they were given, and authors write what they like: no value of a secret is in either, nor what is made
// of one.

import t from 'tap'
import { SharedService } from '../support/api/shared-service.ts'

const values = {
  plain: 'KxQmvTzwBrJdYf',
  quoted: `wq's "zxkvjq" \\ fy yhgw`,
  escaped: `qz'wv"xk\\jh\nbn\tpf`,
  // No letter of an id, so that none has it by chance.
  short: 'u3l',
  number: '735190286',
}

const shared = new SharedService(t)

async function openSecrets() {
  const service = await shared.take()
  for (const [name, value] of Object.entries(values)) {
    await service.call('POST', `/v0/variables?${new URLSearchParams({ name, value }).toString()}`)
  }
  return service
}

/** Letters and digits alone, so that neither escapes nor capitals hide a part of a value. */
function signs(text: string): string {
  return text.toLowerCase().replaceAll(/\\[nt]|[^a-z\d]/g, '')
}

/** Parts of a value, forwards and backwards, that nobody writes by accident. */
function partsOf(value: string): readonly string[] {
  const sent = signs(value)
  const both = [sent, [...sent].reverse().join('')]
  if (sent.length < 6) return both
  return both.flatMap((one) => Array.from({ length: one.length - 5 }, (_, at) => one.slice(at, at + 6)))
}

const refused: readonly ((secret: string) => string)[] = [
  (secret) => `Int32(${secret})`,
  (secret) => `int(${secret})`,
  (secret) => `DateTime(${secret})`,
  (secret) => `Array(${secret}, 'Date')`,
  (secret) => `max_threads(${secret})`,
  (secret) => `{'a': 1}[${secret}]`,
  (secret) => `Date(${secret}.upper())`,
  (secret) => `Date(${secret}[::-1])`,
  (secret) => `Date(' '.join(${secret}))`,
  (secret) => `Date(${secret}.replace('e', '-'))`,
  (secret) => `Date(${secret} + ${secret})`,
  (secret) => `error(${secret})`,
  (secret) => `error('wrong: ' + ${secret} + '!')`,
  (secret) => `error(${secret}.upper())`,
  (secret) => `error(list(${secret}))`,
  (secret) => `custom_error({'error': ${secret}, 'more': [${secret}.lower()]}, 422)`,
  (secret) => `columns(${secret})`,
  (secret) => `symbol(${secret}.upper())`,
  (secret) => `column(${secret}[1:-1])`,
]

t.test(
  'an error has no value of a secret in it, nor what a template makes of one, and neither has the log',
  async (t) => {
    const service = await openSecrets()
    for (const [name, value] of Object.entries(values)) {
      for (const expressionOf of refused) {
        const expression = expressionOf(`tb_secret('${name}')`)
        const { status, text } = await service.call('POST', '/v0/sql', { body: `% SELECT {{${expression}}} AS n` })
        t.ok(status >= 400 && status < 500, `${expression} is refused`)
        const shown = signs(text) + signs(JSON.stringify(service.log.entries))
        for (const part of partsOf(value)) if (shown.includes(part)) t.fail(`${expression}: ${text}`)
      }
    }
  },
)

t.test('a value that is no word is not shown either, nor is a short one by what is hidden', async (t) => {
  const service = await openSecrets()
  for (const [name, value] of Object.entries({ signs: '()<>[];|', faces: '🙂🙃🙂🙃🙂', letter: 'q' })) {
    await service.call('POST', `/v0/variables?${new URLSearchParams({ name, value }).toString()}`)
  }
  for (const sql of [
    "SELECT number FROM numbers(1) SETTINGS {{tb_secret('signs')[::-1]}} = 1",
    "SELECT {{symbol(tb_secret('signs')[::-1])}} FROM numbers(1)",
    "SELECT {{column(' '.join(tb_secret('faces')))}} FROM numbers(1)",
  ]) {
    const { status, text } = await service.call('POST', '/v0/sql', { body: `% ${sql}` })
    t.ok(status >= 400 && status < 500, `${sql} is refused`)
    t.notMatch(text + JSON.stringify(service.log.entries), /[|🙂🙃]/u, text)
  }
  const sql = "% SELECT number FROM numbers(1) WHERE quantity = {{tb_secret('letter')}}"
  t.match((await service.call('POST', '/v0/sql', { body: sql })).text, /quantity/)
})

t.test('who knows the secret is told what is wrong else, where the template asks for it', async (t) => {
  const service = await openSecrets()
  const sql = `%
{% if String(key, '') != tb_secret('plain')[1:-1] %}{{custom_error({'error': 'The key is wrong'}, 403)}}{% end %}
{% if defined(closed) %}{{custom_error({'error': 'It is closed', 'code': 7}, 422)}}{% end %}
SELECT {{Int32(n)}} AS n, nothing FROM numbers(1)`
  const answerOf = (given: object) => service.call('POST', '/v0/sql', { body: JSON.stringify({ q: sql, ...given }) })
  t.match(await answerOf({ n: 'x' }), { status: 403, json: { error: 'The key is wrong' } })
  const key = values.plain
  t.match(await answerOf({ key, closed: 1 }), { status: 422, json: { error: 'It is closed', code: 7 } })
  t.match(await answerOf({ key, n: 'x' }), { status: 400, text: /validating '+x'+ to type Int32/ })
  t.match(await answerOf({ key }), { status: 400, text: /Required parameter is not defined/ })
  t.match(await answerOf({ key, n: 1 }), { status: 400, text: /nothing/ })
})

t.test('an error of the database has none either, also where it cuts the text', async (t) => {
  const service = await openSecrets()
  for (const sql of [
    "SELECT {{symbol(tb_secret('plain').upper())}} FROM numbers(1)",
    "SELECT number FROM {{table(tb_secret('plain')[::-1])}}",
    "SELECT number FROM numbers(1) WHERE nothing = {{tb_secret('plain')}}",
    "SELECT toInt32({{tb_secret('plain')}} = 'x') AS a FROM numbers(1) WHERE throwIf(number = 0, {{tb_secret('plain')}})",
    "DESCRIBE (SELECT number FROM numbers(1) WHERE toString(number) = {{tb_secret('plain')}})",
  ]) {
    const { status, text } = await service.call('POST', '/v0/sql', { body: `% ${sql}` })
    t.ok(status >= 400 && status < 500, `${sql} is refused`)
    t.notOk(/'Kx?Q?"/.test(text), text)
    for (const part of partsOf(values.plain)) if (signs(text).includes(part)) t.fail(`${sql}: ${text}`)
  }
})

t.test('an error that does not come from the secret says all', async (t) => {
  const service = await openSecrets()
  const sql = `%
{% if defined(closed) %}{{custom_error({'error': 'It is closed', 'code': 7}, 403)}}{% end %}
SELECT {{Int32(n)}} AS n, nothing FROM numbers(1) WHERE {{tb_secret('plain')}} != {{String(text, '')}}`
  const answerOf = (given: object) => service.call('POST', '/v0/sql', { body: JSON.stringify({ q: sql, ...given }) })
  t.match(await answerOf({ closed: 1 }), { status: 403, json: { error: 'It is closed', code: 7 } })
  t.match(await answerOf({ n: 'x' }), { status: 400, text: /validating '+x'+ to type Int32/ })
  t.match(await answerOf({}), { status: 400, text: /Required parameter is not defined/ })
  t.match(await answerOf({ n: 1 }), { status: 400, text: /nothing/ })
})

t.test('an error of a query is the same whatever the value is', async (t) => {
  const service = await shared.take()
  const name = 'changing'
  await service.call('POST', `/v0/variables?${new URLSearchParams({ name, value: 'first' }).toString()}`)
  const secret = `tb_secret('${name}')`
  const compared = `SELECT number FROM numbers(1) WHERE toString(number) = {{${secret}}}`
  const queries = [
    `${compared} AND nope`,
    `${compared} AND`,
    `${compared} FORMAT Nope`,
    `EXPLAIN ${compared}`,
    `SELECT number FROM numbers(1) WHERE CAST(number, {{${secret}}}) = 1`,
    `SELECT number FROM numbers(1) WHERE JSONExtract('{}', 'k', {{${secret}}}) = 1`,
    `{% if ${secret} == 'x' %}{% end %} SELECT nope`,
    `{% if ${secret} == 'x' %}{% end %} SELECT toDateTime(now(), 'xx_KxQm_yy')`,
    `SELECT {{symbol(${secret})}} FROM numbers(1)`,
    `SELECT nope_{{len(${secret})}}`,
    `SELECT number FROM {{table(${secret})}}`,
    `{{Int32(${secret})}}`,
    `SELECT number FROM numbers(1) WHERE toString(number) = {{${secret}}} AND number + 'x' = 1`,
  ]
  const values = [
    'KxQmvTzwBrJdYf',
    'pin-4711',
    '-5',
    '--',
    '1',
    'a',
    'zone',
    'line',
    '.',
    "'",
    '"',
    '***',
    '0',
    'secret',
  ]
  const told = new Map(queries.map((query) => [query, new Set<string>()]))
  for (const value of values) {
    await service.call('PUT', `/v0/variables/${name}?${new URLSearchParams({ value }).toString()}`)
    for (const [query, answers] of told) {
      const { status, text } = await service.call('POST', '/v0/sql', { body: `% ${query}` })
      answers.add(`${status} ${text}`)
    }
  }
  for (const [query, answers] of told)
    t.match([...answers], [/^4/], query) && t.equal(answers.size, 1, [...answers].join('\n'))
})

t.test('a loop over a secret shifts no condition behind it', async (t) => {
  const service = await openSecrets()
  const loop = "{% for c in tb_secret('plain') %}{% if c == 'v' %} {% end %}{% end %}"
  const { status, text } = await service.call('POST', '/v0/sql', {
    body: `% ${loop}{% if 1 == 1 %}SELECT nope{% else %}SELECT other{% end %}`,
  })
  t.equal(status, 400)
  t.notMatch(text, /other/, 'a branch that is not taken')
})

t.test('who reads a pipe with a secret learns nothing of it by what he guesses', async (t) => {
  const service = await openSecrets()
  const condition = "{{tb_secret('plain')}} != '' AND toDateTime(now(), {{String(tz, 'UTC')}}) > '2020-01-01 00:00:00'"
  const sql = `% SELECT number FROM numbers(1) WHERE ${condition}`
  await service.call('POST', '/v0/pipes', { body: JSON.stringify({ name: 'guarded', nodes: [{ name: 'end', sql }] }) })
  await service.call('POST', '/v0/pipes/guarded/nodes/end/endpoint')
  const { json } = await service.call('POST', '/v0/tokens?name=reader&scope=PIPES:READ:guarded')
  const { token } = json as { readonly token: string }
  const ask = (query: Readonly<Record<string, string>>) =>
    service.call('GET', `/v0/pipes/guarded.json?${new URLSearchParams({ ...query, token }).toString()}`, { token })
  t.match(await ask({}), { status: 200 })
  for (const guess of ['KxQm', 'KxQn']) {
    t.match(
      await ask({ tz: `xx_${guess}_yy` }),
      { status: 400, text: `xx_${guess}_yy` },
      'his own text is told as it is',
    )
    t.match(await ask({ q: `SELECT xx_${guess}_yy FROM _` }), { status: 400, text: `xx_${guess}_yy` })
  }
})

t.test('where a filter hides rows, not even the name of an error is told', async (t) => {
  const service = await openSecrets()
  const schema = 'own String, n String'
  await service.call('POST', `/v0/datasources?${new URLSearchParams({ name: 'held', schema }).toString()}`)
  await service.call('POST', '/v0/events?name=held&wait=true', { body: '{"own":"x","n":"1"}' })
  const sql = "% SELECT n FROM held WHERE {{tb_secret('plain')}} != ''"
  await service.call('POST', '/v0/pipes', { body: JSON.stringify({ name: 'holding', nodes: [{ name: 'end', sql }] }) })
  await service.call('POST', '/v0/pipes/holding/nodes/end/endpoint')
  const filtered = encodeURIComponent('DATASOURCES:READ:held:toInt32(own) > 0')
  const created = await service.call('POST', `/v0/tokens?name=part&scope=PIPES:READ:holding&scope=${filtered}`)
  const { token } = created.json as { readonly token: string }
  const { status, text } = await service.call('GET', `/v0/pipes/holding.json?token=${token}`, { token })
  t.equal(status, 400, text)
  t.notMatch(text, /CANNOT_PARSE/)
})
