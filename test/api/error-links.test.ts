import t from 'tap'
import { openTestService } from '../support/api/test-service.ts'

t.test('documentation in errors is a link where its address is known', async (t) => {
  const service = await openTestService(t, { documentationUrl: 'https://docs.example/millrace' })
  const cases: readonly (readonly [string, string, string, string?])[] = [
    ['GET', '/v0/pipes/missing', 'pipe_not_found'],
    ['GET', '/v0/nothing', 'not_found'],
    ['GET', '/v0/datasources/missing', 'datasource_not_found'],
    ['POST', '/v0/datasources?name=x&schema=a+Wrong', 'schema_invalid'],
    ['POST', '/v0/sql', 'sql_invalid', 'SELECT * FROM nowhere'],
    ['POST', '/v0/sql', 'sql_invalid', 'SELECT 1 +'],
    ['DELETE', '/v0/sql', 'method_not_allowed'],
    ['POST', '/v0/events', 'name_missing', '{}'],
    ['GET', '/v0/pipes?dependencies=maybe', 'parameter_invalid'],
    ['GET', '/v0/variables/missing', 'variable_not_found'],
  ]
  for (const [method, path, code, body] of cases) {
    const { json } = await service.call(method, path, body === undefined ? {} : { body })
    t.match(json, { documentation: `https://docs.example/millrace/docs/errors.md#${code}` }, `${method} ${path}`)
  }
  const anonymous = await service.call('GET', '/v0/sql?q=SELECT+1', { token: null })
  t.match(anonymous.json, { documentation: /^https:\/\/docs\.example\/millrace\/docs\/errors\.md#/ })
})

t.test('it is relative where the address is not known', async (t) => {
  const service = await openTestService(t)
  t.match((await service.call('GET', '/v0/pipes/missing')).json, { documentation: 'docs/errors.md#pipe_not_found' })
})
