import t from 'tap'
import { openTestService } from '../support/api/test-service.ts'

// Names that objects of JavaScript have from birth: a table of names that is such an object would find them.
const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf', 'prototype', '__defineGetter__']

t.test('names of the language are names like any other', async (t) => {
  const service = await openTestService(t, { eventsCreatesPerMinuteMax: 0 })
  const schema = names.map((name) => `${name} String \`json:$.${name}\``).join(', ')
  // Object literals and stringify would lose the first name.
  const object = `{${names.map((name) => `"${name}":"${name} value"`).join(',')}}`
  for (const name of names) {
    t.match(await service.call('GET', `/v0/datasources/${name}`), { status: 404 })
    t.match(await service.call('GET', `/v0/pipes/${name}`), { status: 404 })
    t.match(await service.call('GET', `/v0/pipes/${name}.json`), { status: 404 })
    t.match(await service.call('GET', `/v0/variables/${name}`), { status: 404 })
    t.match(await service.call('POST', `/v0/sql`, { body: `SELECT * FROM ${name}` }), { status: 400 })
    t.match(await service.create(name, schema), { status: 200 })
    t.match(await service.events(name, object, { wait: 'true' }), { status: 200, json: { successful_rows: 1 } })
    t.match(await service.append(name, 'ndjson', object), { status: 200, json: { quarantine_rows: 0 } })
    const csv = `${names.join(',')}\n${names.map((other) => `${other} value`).join(',')}\n`
    t.match(await service.append(name, 'csv', csv), { status: 200, json: { quarantine_rows: 0 } })
    const row = names.map((other) => `${other} value`)
    t.strictSame(await service.rows(`SELECT * FROM ${name}`), [row, row, row])
    const json = await service.sql(`SELECT * FROM ${name} LIMIT 1 FORMAT JSONEachRow`)
    t.equal(json, `${object}\n`)
    const listed = await service.call('GET', `/v0/datasources?attrs=${name},name`)
    t.match(listed, { status: 200 })
    t.match(await service.call('GET', `/v0/datasources/${name}?attrs=${names.join(',')}`), { status: 200, text: '{}' })
  }
})

t.test('events create data sources of such names and keys', async (t) => {
  const service = await openTestService(t, { eventsCreatesPerMinuteMax: 0 })
  for (const name of names) {
    const body = `{"${name}":{"${name}":1},"other":"${name}"}`
    t.match(await service.events(name, body, { wait: 'true' }), { status: 200, json: { successful_rows: 1 } }, name)
    t.strictSame(await service.rows(`SELECT ${name}_${name}, other FROM ${name}`), [['1', name]])
    const analyzed = await service.call('POST', '/v0/analyze?format=ndjson', { body })
    t.match(analyzed, {
      status: 200,
      json: { analysis: { columns: [{ path: `$.${name}.${name}` }, { name: 'other' }] } },
    })
  }
})

t.test('pipes, nodes, parameters and variables of such names do what others do', async (t) => {
  const service = await openTestService(t)
  for (const name of names) {
    const sql = `% SELECT {{String(${name}, 'none')}} AS ${name}, '${name}' AS other`
    const nodes = [{ name: `${name}_node`, sql, type: 'endpoint' }]
    const made = await service.call('POST', '/v0/pipes', { body: JSON.stringify({ name, nodes }) })
    t.equal(made.status, 200, made.text)
    const answers = [
      service.call('GET', `/v0/pipes/${name}.ndjson?${name}=given`),
      service.call('POST', `/v0/pipes/${name}.ndjson`, { body: `${name}=given` }),
      service.call('POST', `/v0/pipes/${name}.ndjson`, { body: `{"${name}":"given"}` }),
      service.call('GET', `/v0/pipes/${name}.ndjson?other=x&${name}=first&${name}=given`),
      service.call('GET', `/v0/pipes/${name}.ndjson`, { headers: { [name.toLowerCase()]: 'x' } }),
    ]
    for (const [index, answer] of (await Promise.all(answers)).entries()) {
      const expected = index === 4 ? 'none' : index === 3 ? 'first,given' : 'given'
      if (index !== 3) t.match(answer, { status: 200, text: `{"${name}":"${expected}","other":"${name}"}\n` })
      else t.ok(answer.status < 500, answer.text)
    }
    t.match(await service.call('GET', `/v0/pipes/${name}/openapi.json`), { status: 200, text: new RegExp(`"${name}"`) })
    t.match(await service.call('GET', `/v0/pipes?attrs=${name}&node_attrs=${name}`), { status: 200 })
    const variable = await service.call('POST', '/v0/variables', { body: `name=${name}&value=secret` })
    t.equal(variable.status, 200, variable.text)
    t.match(await service.call('GET', `/v0/variables/${name}`), { status: 200, json: { name } })
  }
  const all = await service.call('GET', '/v0/pipes/openapi.json')
  for (const name of names) t.match(all, { text: new RegExp(`"/pipes/${name}.\\{format\\}"`) })
})

t.test('values that are such names are refused as other words are', async (t) => {
  const service = await openTestService(t)
  for (const name of names) {
    const refused = [
      service.call('POST', `/v0/datasources?name=a&dialect_new_line=${name}`, { body: 'a,b\n1,2\n' }),
      service.call('POST', `/v0/datasources?name=a&dialect_delimiter=${name}`, { body: 'a,b\n1,2\n' }),
      service.call('POST', `/v0/datasources?name=a&dialect_escapechar=${name}`, { body: 'a,b\n1,2\n' }),
      service.call('POST', `/v0/datasources?name=a&mode=${name}`, { body: 'a,b\n1,2\n' }),
      service.call('POST', `/v0/datasources?name=a&format=${name}`, { body: 'a,b\n1,2\n' }),
      service.call('POST', `/v0/datasources?name=a&debug=${name}`, { body: 'a,b\n1,2\n' }),
      service.create('a', 'a Int32', { engine: name }),
      service.create('a', 'a Int32', { engine: 'MergeTree', [`engine_${name}`]: 'x' }),
      service.create('a', `a ${name}`),
      service.call('GET', `/v0/sql?q=SELECT+1&format=${name}`),
      service.call('GET', `/v0/sql?q=SELECT+1+FORMAT+${name}`),
      service.call('GET', `/v0/sql?q=SELECT+${name}_(1)`),
      service.call('GET', `/v0/sql?q=SELECT+*+FROM+tinybird.${name}`),
      service.call('POST', '/v0/variables', { body: `name=b&value=1&type=${name}` }),
      service.events('a', '{"a":1}', { format: name }),
    ]
    for (const [index, answer] of (await Promise.all(refused)).entries()) {
      t.match(answer, { status: 400, json: { error: String } }, `${name}, case ${index}: ${answer.text}`)
    }
  }
  t.match(await service.call('GET', '/v0/datasources'), { json: { datasources: [] } })
})
