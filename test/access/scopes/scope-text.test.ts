import t from 'tap'
import { readScope, readScopeText } from '../../../src/access/scopes/scope-text.ts'

t.test('a scope is its type, the resource behind it, and a filter with all its colons', async (t) => {
  const read = (text: string) => {
    const { type, spelling, resource, filter } = readScopeText(text)
    return [type, spelling, resource, filter]
  }
  t.same(read('ADMIN'), ['ADMIN', 'ADMIN', null, null])
  t.same(read(' tokens '), ['TOKENS', 'TOKENS', null, null])
  t.same(read('WORKSPACE:READ_ALL'), ['WORKSPACE:READ_ALL', 'WORKSPACE:READ_ALL', null, null])
  t.same(read('DATASOURCES:CREATE'), ['DATASOURCES:CREATE', 'DATASOURCES:CREATE', null, null])
  t.same(read('DATASOURCE:APPEND:events'), ['DATASOURCES:APPEND', 'DATASOURCE:APPEND', 'events', null])
  t.same(read('PIPES:READ:p'), ['PIPES:READ', 'PIPES:READ', 'p', null])
  const filter = "at >= '2024-01-01 10:20:30' ? a : b"
  t.same(read(`DATASOURCES:READ:t_0.x:${filter}`), ['DATASOURCES:READ', 'DATASOURCES:READ', 't_0.x', filter])
})

t.test('DROP takes its name with or without the word NAME', async (t) => {
  t.match(readScopeText('DROP:NAME:events'), { type: 'DROP:NAME', resource: 'events' })
  t.match(readScopeText('DROP:events'), { type: 'DROP:NAME', spelling: 'DROP:NAME', resource: 'events' })
  t.match(readScopeText('DROP:NAME'), { type: 'DROP:NAME', resource: null })
  t.match(readScopeText('drop:NAME'), { type: 'DROP:NAME', resource: null })
  for (const name of ['name', 'Name', 'nAME']) {
    t.match(readScopeText(`DROP:${name}`), { type: 'DROP:NAME', resource: name }, 'a name, and not everything')
    t.throws(() => readScope({ type: `DROP:${name}`, resource: null, filter: null }), { code: 'SCOPE_INVALID' })
  }
})

t.test('what is no scope is refused with the reason', async (t) => {
  const refusals = {
    '': /it is none of ADMIN/,
    READ: /it is none of ADMIN/,
    'DATASOURCES:WRITE:events': /it is none of/,
    'ADMIN:events': /ADMIN is about the whole workspace/,
    'TOKENS::a = 1': /TOKENS is about the whole workspace|takes no filter/,
    'DATASOURCES:APPEND:events:a = 1': /DATASOURCES:APPEND takes no filter/,
    'DATASOURCES:READ:': /the name of the resource is empty; leave the colon out/,
    'DATASOURCES:READ: ': /the name of the resource is empty|leave/,
    'DATASOURCES:READ:events:': /the filter is empty; leave the colon out/,
    'PIPES:READ:p: ': /the filter is empty/,
    'DROP:': /the name of the resource is empty/,
    'DATASOURCES:READ::a = 1': /the name of the resource is empty/,
    [`DATASOURCES:READ:events:${'a'.repeat(20_000)}`]: /at most 16384 bytes/,
  }
  for (const [text, message] of Object.entries(refusals)) {
    t.throws(() => readScopeText(text), { code: 'SCOPE_INVALID', status: 400, message }, text.slice(0, 40))
  }
})

t.test('a scope of JSON follows the same rules', async (t) => {
  const fields = { type: 'pipe:read', resource: ' p ', filter: ' a = 1 ' }
  t.same(readScope(fields), { type: 'PIPES:READ', spelling: 'PIPE:READ', resource: 'p', filter: 'a = 1' })
  t.throws(() => readScope({ ...fields, resource: null }), { message: /a filter needs the name of its resource/ })
  t.throws(() => readScope({ ...fields, type: 'toString' }), { code: 'SCOPE_INVALID' })
})
