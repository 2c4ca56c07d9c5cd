import t from 'tap'
import { openTestService } from '../support/api/test-service.ts'

const service = await openTestService(t)
await service.create('d', 'n UInt32 `json:$.n`')
await service.call('POST', '/v0/pipes?name=p&sql=SELECT+1+AS+n')

t.test('what is planned and not there yet says so', async (t) => {
  const paths = [
    ...['POST /v0/datasources/d/exchange', 'GET /v0/datasources/d/dependencies', 'POST /v0/pipes/p/copy'],
    ...['POST /v0/pipes/p/nodes/p_0/copy?target_datasource=d', 'POST /v0/pipes/p/copy/pause', 'POST /v0/pipes/p/sink'],
    ...['POST /v0/pipes/p/nodes/p_0/sink', 'GET /v0/connectors'],
    ...['GET /v0/connections', 'GET /v1/workspaces', 'POST /v1/deploy'],
    ...['POST /v1/build', 'GET /v1/deployments', 'GET /v1/deployments/3', 'POST /v0/datafiles', 'GET /v0/workspaces'],
    ...['GET /v1/user/workspaces', 'GET /v0/environments/x', 'GET /v0/regions', 'GET /v0/sql_format?q=SELECT+1'],
    ...['POST /v0/deploy', 'GET /v0/tags', 'GET /v0/auth'],
  ]
  for (const path of paths) {
    const [method = '', url = ''] = path.split(' ')
    const answer = await service.call(method, url)
    const place = url.split('?')[0]
    t.match(answer, { status: 404, json: { error: /this service does not have .+ yet$/ } }, path)
    t.match(answer.json, { error: new RegExp(`^There is nothing at "${place}": `), documentation: String }, path)
  }
  for (const path of ['/v0/nothing', '/v0/pipes/p/copyx', '/v1/pipes', '/v0/jobsx', '/v0/datasources/d/deleted']) {
    const { status, json } = await service.call('GET', path)
    t.equal(status, 404, path)
    t.notMatch(json, { error: / yet/ }, path)
  }
})

t.test('an import that makes a data source by an append names it, and others name none', async (t) => {
  const header = async (path: string, body: string): Promise<string | null> => {
    const { status, headers } = await service.call('POST', path, { body })
    t.equal(status, 200, path)
    return headers.get('x-datasource-created')
  }
  t.equal(await header('/v0/datasources?name=made&mode=append&format=csv', 'n\n1\n'), 'made')
  t.equal(await header('/v0/datasources?name=made&mode=append&format=csv', 'n\n1\n'), null)
  t.equal(await header('/v0/datasources?name=made2&mode=append&format=csv&progress=true', 'n\n1\n'), 'made2')
  t.equal(await header('/v0/datasources?name=made3&mode=append&schema=n+UInt8+`json:$.n`', '{"n":1}\n'), 'made3')
  t.equal(await header('/v0/datasources?name=made4&format=csv', 'n\n1\n'), null, 'a creation was asked for')
  t.equal(await header('/v0/datasources?name=made&mode=replace&format=csv', 'n\n1\n'), null)
})

t.test('tags are told not to be kept', async (t) => {
  const made = await service.call('POST', '/v0/datasources?name=tagged&schema=n+UInt8&tags=a,b')
  t.match(made, { status: 200, json: { datasource: { tags: {} } } })
  t.match(made.headers.get('x-warning'), /^Parameter 'tags' is ignored/)
  const plain = await service.call('POST', '/v0/datasources?name=untagged&schema=n+UInt8')
  t.equal(plain.headers.get('x-warning'), null)
})
