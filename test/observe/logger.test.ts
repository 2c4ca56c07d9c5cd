import { PassThrough } from 'node:stream'
import t from 'tap'
import { createLogger, type LogLevel, withoutToken } from '../../src/observe/logger.ts'

function createRecorder(level: LogLevel) {
  const output = new PassThrough()
  const entries = (): readonly Record<string, unknown>[] => {
    const text = String(output.read() ?? '')
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line))
  }
  return { logger: createLogger({ level, output }), entries }
}

t.test('an entry is one line of JSON with level, time, fields and message', async (t) => {
  const { logger, entries } = createRecorder('info')
  logger.info({ rowCount: 3 }, 'The rows are stored.')
  const [entry = {}] = entries()
  t.match(entry, { level: 'info', rowCount: 3, msg: 'The rows are stored.' })
  t.match(entry['time'], /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
})

t.test('entries below the level are left out, and silent leaves out all', async (t) => {
  const warn = createRecorder('warn')
  warn.logger.info({}, 'It worked.')
  warn.logger.warn({}, 'Odd.')
  t.same(
    warn.entries().map((entry) => entry['msg']),
    ['Odd.'],
  )
  const silent = createRecorder('silent')
  silent.logger.error({}, 'Lost.')
  t.same(silent.entries(), [])
})

t.test('an error is kept with its stack and its causes', async (t) => {
  const { logger, entries } = createRecorder('info')
  logger.error({ err: new Error('The part was refused.', { cause: new Error('Code: 27') }) }, 'Rows are lost.')
  t.match(entries()[0], {
    err: { type: 'Error', message: 'The part was refused.', stack: /logger\.test/, cause: { message: 'Code: 27' } },
  })
})

t.test('a token stays out of the log wherever it came from', async (t) => {
  const { logger, entries } = createRecorder('info')
  const secret = 'p.s3cr3t'
  logger.info(
    {
      token: secret,
      adminToken: secret,
      headers: { authorization: `Bearer ${secret}` },
      req: { method: 'GET', url: `/v0/sql?q=1&token=${secret}`, ip: '::1', headers: { authorization: secret } },
    },
    'A request came.',
  )
  const [entry = {}] = entries()
  t.notOk(JSON.stringify(entry).includes(secret))
  t.same(entry['req'], { method: 'GET', url: '/v0/sql?q=1&token=[redacted]', remoteAddress: '::1' })
})

t.test('a child logger keeps tokens out too', async (t) => {
  const { logger, entries } = createRecorder('info')
  logger.child({ reqId: '01A' }).info({ token: 'p.s3cr3t' }, 'A request came.')
  t.match(entries()[0], { reqId: '01A', token: '[redacted]' })
})

t.test('a URL loses the values of its tokens and nothing else', async (t) => {
  t.equal(withoutToken('/v0/events?name=a'), '/v0/events?name=a')
  t.equal(withoutToken('/v0/events'), '/v0/events')
  t.equal(withoutToken('/v0/events?token=abc'), '/v0/events?token=[redacted]')
  t.equal(withoutToken('/v0/events?name=a&token=abc&wait=true'), '/v0/events?name=a&token=[redacted]&wait=true')
  t.equal(withoutToken('/v0/events?to%6ben=abc'), '/v0/events?to%6ben=[redacted]')
  t.equal(withoutToken('/v0/events?auth_token=abc=def'), '/v0/events?auth_token=[redacted]')
  t.equal(withoutToken('/v0/events?%zz=1&='), '/v0/events?%zz=1&=')
})
