import t from 'tap'
import { Access } from '../../src/access/access.ts'
import { adminDeps } from '../support/access/admin-access.ts'

t.test('the admin token is allowed everything, and no other text is', async (t) => {
  const access = new Access(adminDeps('p.secret'))
  t.match(access.verify('p.secret'), { isAllowed: true, caller: { tokenId: 'admin', tokenName: 'admin' } })
  for (const wrong of ['p.secre', 'p.secret ', 'P.SECRET', 'x'.repeat(10_000)]) {
    t.match(access.verify(wrong), { isAllowed: false, refusal: { error: { code: 'TOKEN_INVALID', status: 403 } } })
  }
  for (const missing of [undefined, '']) {
    t.match(access.verify(missing), { isAllowed: false, refusal: { error: { code: 'TOKEN_MISSING', status: 403 } } })
  }
})

t.test('the admin may do everything, to one resource and to all, and reads every row', async (t) => {
  const access = new Access(adminDeps('p.secret'))
  const verdict = access.verify('p.secret')
  if (!verdict.isAllowed) throw verdict.refusal.error
  const { caller } = verdict
  t.equal(access.refusalOf(caller, 'datasource:drop', 'events'), null)
  t.equal(access.refusalOf(caller, 'variable:change', null), null)
  const scope = access.readScopeOf(caller)
  t.match(scope, { signature: '', mayUseSecrets: true })
  t.equal(scope.mayRead('t_0'), true)
  t.equal(scope.filterOf('t_0'), null)
})
