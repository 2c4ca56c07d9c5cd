// Functions of templates quote what they were given, and authors write what they like: no value of a secret is in either.

import t from 'tap'
import { openTestService } from '../support/api/test-service.ts'

const values = { plain: 'TheVerySecretValue', quoted: `it's "secret" \\ of ours`, short: 'k3y' }

t.test('an error of a template has no value of a secret in it, and neither has the log', async (t) => {
  const service = await openTestService(t)
  for (const [name, value] of Object.entries(values)) {
    await service.call('POST', `/v0/variables?${new URLSearchParams({ name, value }).toString()}`)
    const secret = `tb_secret('${name}')`
    const parts = name === 'short' ? [value] : [value.slice(0, 6), value.slice(-6)]
    for (const expression of [
      `Int32(${secret})`,
      `int(${secret})`,
      `DateTime(${secret})`,
      `max_threads(${secret})`,
      `{'a': 1}[${secret}]`,
      `error(${secret})`,
      `error('wrong: ' + ${secret} + '!')`,
      `custom_error({'error': ${secret}, 'more': [${secret}]}, 422)`,
      `columns(${secret})`,
    ]) {
      const { status, text } = await service.call('POST', '/v0/sql', { body: `% SELECT {{${expression}}} AS n` })
      t.ok(status >= 400, `${expression} is refused`)
      const logged = JSON.stringify(service.log.entries)
      for (const part of parts) t.notOk(text.includes(part) || logged.includes(part), `${expression}: ${text}`)
    }
  }
})
