import t from 'tap'
import { openTokenService } from '../support/api/token-service.ts'

t.test('who publishes gets the token that reads the pipe, where there is exactly one', async (t) => {
  const { admin, as, make, valueWith } = await openTokenService(t)
  const tellsBy = async (caller = admin): Promise<(string | undefined)[]> => {
    const answers = [
      await caller('POST', '/v0/pipes/p1/nodes/p1_0/endpoint'),
      await caller('POST', '/v0/pipes/p1/endpoint', 'p1_0'),
      await caller('PUT', '/v0/pipes/p1/endpoint', 'p1_0'),
      await caller('PUT', '/v0/pipes/p1/published', 'p1_0'),
    ]
    return answers.map(({ status, text, json }) => {
      t.equal(status, 200, text)
      return (json as { readonly token?: string }).token
    })
  }
  const all = (token: string | undefined): (string | undefined)[] => Array.from({ length: 4 }, () => token)
  t.same(await tellsBy(), all(undefined), 'none')
  await make('any pipe', ['PIPES:READ'])
  await make('any at all', ['WORKSPACE:READ_ALL'])
  await make('another pipe', ['PIPES:READ:p2'])
  await make('data source', ['DATASOURCES:READ:ev'])
  await make('other rights', ['PIPES:DROP:p1', 'PIPES:CREATE:p1'])
  t.same(await tellsBy(), all(undefined), 'tokens without the resource, of others and with other rights are none')

  const filtered = await valueWith('filtered', "PIPES:READ:p1:tenant = 'a'")
  t.same(await tellsBy(), all(filtered), 'one with a filter is one')
  const reader = await valueWith('reader', 'PIPES:READ:p1', 'PIPES:READ:p2')
  t.same(await tellsBy(), all(undefined), 'of two none')
  t.equal((await admin('DELETE', '/v0/tokens/filtered')).status, 200)
  t.same(await tellsBy(), all(reader), 'the one that is left, also where it reads more')
  const { json } = await admin('POST', '/v0/tokens/reader/refresh')
  const { token: refreshed } = json as { readonly token: string }
  t.same(await tellsBy(), all(refreshed), 'by the value that it has now')
  await admin('PUT', '/v0/pipes/p1?name=renamed')
  await admin('PUT', '/v0/pipes/renamed?name=p1')
  t.same(await tellsBy(), all(refreshed), 'its scope follows the pipe')

  const author = as(await valueWith('author', 'PIPES:CREATE:p1', 'DATASOURCES:READ:ev'))
  t.same(await tellsBy(author), all(undefined), 'whoever may do less than it is told of none')
  const strong = as(await valueWith('strong', 'PIPES:CREATE:p1', 'DATASOURCES:READ:ev', 'WORKSPACE:READ_ALL'))
  t.same(await tellsBy(strong), all(refreshed), 'whoever may do all of that is told')
  const unpublished = await admin('DELETE', '/v0/pipes/p1/endpoint')
  t.equal(unpublished.status, 200)
  t.notOk('token' in (unpublished.json as object), 'who takes an endpoint back is told of no token')
})
