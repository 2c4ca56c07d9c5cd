import t from 'tap'
import { openTokenService } from '../support/api/token-service.ts'

const { as, valueWith } = await openTokenService(t)
const pipesPerClient = 15

t.test('clients that push, rename and drop pipes beside each other are all served', async (t) => {
  const statuses = new Map<string, number>()
  const push = async (client: number): Promise<void> => {
    const name = `pusher_${client}`
    const call = as(await valueWith(name, 'DATASOURCES:READ:ev', 'PIPES:CREATE', 'PIPES:DROP'))
    const note = async (what: string, ...request: Parameters<typeof call>): Promise<void> => {
      const told = `${what} ${(await call(...request)).status}`
      statuses.set(told, (statuses.get(told) ?? 0) + 1)
    }
    await Promise.all(
      Array.from({ length: pipesPerClient }, async (_, index) => {
        const nodes = [
          { name: 'a', sql: 'SELECT * FROM ev' },
          { name: 'b', sql: '% SELECT id FROM a WHERE id > {{Int32(least, 0)}}', type: 'endpoint' },
        ]
        const pipe = `${name}_${index}`
        const body = JSON.stringify({ name: pipe, nodes })
        await note('push', 'POST', '/v0/pipes?force=true', body)
        await note('push again', 'POST', '/v0/pipes?force=true', body)
        await note('rename', 'PUT', `/v0/pipes/${pipe}?name=${pipe}_new`)
        await note('drop', 'DELETE', `/v0/pipes/${pipe}_new`)
      }),
    )
  }
  await Promise.all([0, 1, 2].map(push))
  const all = 3 * pipesPerClient
  t.strictSame(Object.fromEntries(statuses), {
    'push 200': all,
    'push again 200': all,
    'rename 200': all,
    'drop 204': all,
  })
})
