// Clients that hold the service up, in a process of their own and from other addresses: a client beside them has all of its answers.

import { fileURLToPath } from 'node:url'
import t from 'tap'
import { type Attacks, attackNames } from '../../benchmarks/support/attacks.ts'
import { startRemote } from '../../benchmarks/support/remote-functions.ts'
import { openTestService } from '../support/api/test-service.ts'

const program = fileURLToPath(import.meta.resolve('../../benchmarks/support/attacks.js'))
const token = 'p.test.token'

t.test('a client has all of its answers while others hold the service up', async (t) => {
  // Fewer than there are attackers.
  const service = await openTestService(t, { connectionsMax: 150, connectionsPerAddressMax: 50 })
  await service.create('neighbour', 'id UInt32 `json:$.id`, text String `json:$.text`', { format: 'ndjson' })
  const attackers = startRemote<Attacks>(program)
  t.teardown(() => attackers.close())
  const neighbour = startRemote<Attacks>(program)
  t.teardown(() => neighbour.close())
  const port = Number(new URL(service.address).port)
  for (const attack of attackNames.filter((name) => name !== 'none')) {
    for (const sent of [null, token]) {
      const addresses = attack === 'large bodies' ? ['127.0.0.2'] : ['127.0.0.2', '127.0.0.3']
      const task = { attack, port, addresses, connectionCount: 200, durationMs: 1_500, token: sent }
      const attacked = attackers.call('attack', { ...task, dataSource: 'neighbour' })
      const asked = { port, address: '127.0.0.9', token, dataSource: 'neighbour', durationMs: 1_000 }
      const { eventMs, failures } = await neighbour.call('ask', asked)
      // Bodies that a token lets in share one budget: whoever finds it full is told to come again.
      const isShared = attack === 'large bodies' && sent !== null
      const lost = Object.keys(failures).filter((line) => !(isShared && line.startsWith('HTTP/1.1 503 ')))
      t.same(lost, [], `${attack}, ${sent === null ? 'without' : 'with'} a token`)
      t.ok(eventMs.length > 0)
      await attacked
    }
  }
})
