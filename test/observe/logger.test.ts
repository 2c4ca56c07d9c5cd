import { PassThrough } from 'node:stream'
import t from 'tap'
import { LogSecrets } from '../../src/observe/log-secrets.ts'
import { loggedUrl } from '../../src/observe/logged-url.ts'
import { createLogger, type LogLevel } from '../../src/observe/logger.ts'
import { errors } from '../../src/shared/errors/errors.ts'
import { StoreError } from '../../src/store/store-error.ts'

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

t.test('values of rows that an error quotes stay out of the log, with its causes and stacks', async (t) => {
  const { logger, entries } = createRecorder('info')
  const said =
    "Cannot parse string 'it's a CANARY' as UInt8: while executing 'FUNCTION toUInt8(s)'. (CANNOT_PARSE_TEXT)"
  const engine = new Error(`Query failed: Code: 6. DB::Exception: ${said}`)
  const ofStore = new StoreError({ kind: 'engine', message: said, clickhouseCode: 6, cause: engine })
  const ofJson = new SyntaxError('Unexpected token \'C\', "CANARY" is not valid JSON')
  logger.error({ err: errors.INTERNAL({ cause: ofStore }) }, 'A request failed.')
  logger.error({ err: ofStore }, 'A job has ended by a fault.')
  logger.error({ err: new AggregateError([ofStore, ofJson]) }, 'Several failed.')
  logger.error({ err: errors.DELETE_FAILED({ name: 'a', reason: said, cause: ofStore }) }, 'A delete failed.')
  const told = entries()
  t.equal(told.length, 4)
  for (const entry of told) t.notMatch(JSON.stringify(entry), /CANARY/)
  t.match(told[1], {
    err: { message: "Cannot parse string '…'. (CANNOT_PARSE_TEXT)", stack: /logger\.test/, clickhouseCode: 6 },
  })
  const full = new StoreError({ kind: 'engine', message: "Cannot write to '/data/x'", diskFault: 'the disk is full' })
  logger.error({ err: full }, 'The disk refuses.')
  t.match(entries()[0], { err: { message: "Cannot write to '/data/x'" } }, 'what a disk refused quotes paths')
})

t.test('a token stays out of the log wherever it came from', async (t) => {
  const { logger, entries } = createRecorder('info')
  const secret = 'p.s3cr3t'
  logger.info(
    {
      token: secret,
      adminToken: secret,
      headers: { authorization: `Bearer ${secret}` },
      cookie: `session=${secret}`,
      text: `/v0/sql?q=1&token=${secret}`,
    },
    'A request came.',
  )
  const [entry = {}] = entries()
  t.notOk(JSON.stringify(entry).includes(secret))
  t.equal(entry['text'], '/v0/sql?q=1&token=[redacted]')
})

const known = 'Given-Token.of~the/test+1='
const made = `p.${Buffer.from('{"u":"admin","id":"admin"}').toString('base64url')}.c2VjcmV0LXNlY3JldC1zZWNyZXQ`
const percents = (text: string) =>
  [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')

t.test('an entry that has a token in any place and any writing is logged without it', async (t) => {
  const writings = (secret: string): readonly string[] => [
    secret,
    `Bearer ${secret}`,
    `Authorization: Bearer ${secret}`,
    `/v0/sql;token=${secret}`,
    `/v0/sql#token=${secret}`,
    `/v0/sql?q=1?token=${secret}`,
    `/v0/sql?{"token":"${secret}"}`,
    `/v0/${secret}/sql`,
    `/v0/sql?to%6ben=${secret}`,
    encodeURIComponent(secret),
    encodeURIComponent(encodeURIComponent(secret)),
    percents(secret),
    encodeURIComponent(percents(secret)),
    percents(percents(secret)),
    `"\\u00${secret.charCodeAt(0).toString(16)}${secret.slice(1)}"`,
    `&#${secret.charCodeAt(0)};${secret.slice(1)}`,
    `&#0${secret.charCodeAt(0)};${secret.slice(1)}`,
    `&#x${secret.charCodeAt(0).toString(16)};${secret.slice(1)}`,
    `&#X00${secret.charCodeAt(0).toString(16)};${secret.slice(1)}`,
    `Cannot parse '${secret.slice(0, 40)}… as UInt8`,
    `https://user:${secret}@host/v0/sql`,
    `session=abc; token=${secret}; theme=dark`,
  ]
  const secrets = new LogSecrets()
  secrets.hide(known)
  for (const secret of [known, made]) {
    for (const text of writings(secret)) {
      const output = new PassThrough()
      const logger = createLogger({ level: 'info', output, secrets })
      logger.warn({ text, nested: { deep: [text] }, err: new Error(text, { cause: new Error(text) }) }, text)
      const line = String(output.read())
      t.match(JSON.parse(line), { level: 'warn' }, 'the entry is whole')
      t.notMatch(decoded(line), secret.slice(2, 22), text)
    }
  }
})

/** What a reader could make of a line. */
function decoded(line: string): string {
  let text = line
  for (let depth = 0; depth < 4; depth += 1) {
    text = text.replace(/%([0-9a-f]{2})/gi, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)))
    text = text.replace(/\\+u00([0-9a-f]{2})/gi, (_, digits: string) =>
      String.fromCharCode(Number.parseInt(digits, 16)),
    )
    text = text.replace(/&#(\d+);/g, (_, digits: string) => String.fromCharCode(Number(digits)))
    text = text.replace(/&#x([0-9a-f]+);/gi, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)))
  }
  return text
}

t.test('what is no token stays in an entry as it is', async (t) => {
  const texts = [
    'No token: send the header "Authorization: Bearer <token>" or the parameter "token"',
    "Unknown column 'p.country' in scope SELECT p.country FROM pages AS p",
    'The path of its URL has a percent sign that does not begin an escape; write it as %25',
    '100 % of 3%20 rows',
    'http.server_name p.something_long.other',
    'Invalid token',
  ]
  for (const text of texts) {
    const { logger, entries } = createRecorder('info')
    logger.info({ text }, 'Odd.')
    t.equal(entries()[0]?.['text'], text)
  }
})

t.test('an entry is bounded, whatever it is given', async (t) => {
  const { logger, entries } = createRecorder('info')
  logger.error({ text: 'x'.repeat(1_000_000) }, 'Rows are lost.')
  const [entry = {}] = entries()
  t.match(entry, { level: 'error', msg: 'Rows are lost.' })
  t.ok(JSON.stringify(entry).length < 16 * 1024)
})

t.test(
  'an error whose message quotes a whole statement leaves a short entry, with its frames and its causes',
  async (t) => {
    const { logger, entries } = createRecorder('info')
    const statement = 'SELECT a, b FROM c WHERE d = 1 AND '.repeat(400)
    const engine = Object.assign(new Error(statement), {
      clickhouseCode: 47,
      path: statement,
      shape: { deep: statement },
    })
    let err = new Error(statement, { cause: engine })
    for (let depth = 0; depth < 20; depth += 1) err = new Error(`${statement} ${depth}`, { cause: err })
    const many = new AggregateError(
      Array.from({ length: 50 }, () => new Error(statement)),
      statement,
      { cause: engine },
    )
    for (const error of [engine, err, many]) {
      logger.error({ err: error }, 'Rows are lost.')
      const [entry = {}] = entries()
      t.match(entry, {
        level: 'error',
        msg: 'Rows are lost.',
        err: { message: /^SELECT a, b .*…$/, stack: /logger\.test/ },
      })
      t.notOk('cutChars' in entry, 'the entry is whole')
      t.ok(JSON.stringify(entry).length < 10_000, `${JSON.stringify(entry).length} characters`)
    }
    logger.error({ err: engine }, 'Rows are lost.')
    t.match(entries()[0], { err: { clickhouseCode: 47, path: /…$/, stack: /^Error: SELECT a.*…\n +at /s } })
    logger.error({ err: new Error('first', { cause: new Error('second', { cause: 'third' }) }) }, 'Rows are lost.')
    t.match(entries()[0], { err: { message: 'first', cause: { message: 'second', cause: 'third' } } })
    const told = new Error('told', { cause: new Error('why') })
    logger.error({ err: new AggregateError([told, new Error('what became of it')]) }, 'Rows are lost.')
    const aggregateErrors = [{ message: 'told', cause: { message: 'why' } }, { message: 'what became of it' }]
    t.match(entries()[0], { err: { aggregateErrors } })
    const circular = new Error('round')
    circular.cause = circular
    for (const error of [
      circular,
      new Error(''),
      Object.assign(new Error('no stack'), { stack: undefined }),
      'a text',
      7,
    ]) {
      logger.error({ err: error }, 'Rows are lost.')
      t.match(entries()[0], { msg: 'Rows are lost.' })
    }
    logger.error({ err: statement }, 'Rows are lost.')
    t.match(entries()[0], { err: /^SELECT a, b .*…$/ })
  },
)

t.test('a token at the place where an error is cut leaves no beginning of it in the entry', async (t) => {
  for (let chars = 440; chars <= 500; chars += 1) {
    const output = new PassThrough()
    const logger = createLogger({ level: 'info', output })
    const message = `${'x '.repeat(chars).slice(0, chars)} ${made} ${'y '.repeat(600)}`
    logger.error({ err: new Error(message, { cause: new Error(message) }) }, 'Odd.')
    t.notMatch(String(output.read()), made.slice(2, 14), `${chars} characters before it`)
  }
})

t.test('a URL keeps its path, and of its query what the API knows', async (t) => {
  const urls: readonly (readonly [string, string])[] = [
    ['/v0/events', '/v0/events'],
    ['/v0/events?name=a', '/v0/events?name=a'],
    ['/v0/events?name=a&token=abc&wait=true', '/v0/events?name=a&wait=true&…'],
    ['/v0/events?token=abc', '/v0/events?…'],
    ['/v0/events?to%6ben=abc', '/v0/events?…'],
    ['/v0/events?auth_token=abc=def', '/v0/events?…'],
    ['/v0/events?abcdef', '/v0/events?…'],
    ['/v0/events?name=a%26token%3Dabc', '/v0/events?…'],
    ['/v0/events?name=a?token=abc', '/v0/events?…'],
    ['/v0/events?name=a#token=abc', '/v0/events?…'],
    ['/v0/sql;token=abc', '/v0/sql…'],
    ['/v0/sql#token=abc', '/v0/sql…'],
    ['/v0/sql&token=abc', '/v0/sql…'],
    ['/v0/sql%3Ftoken=abc', '/v0/sql…'],
    ['/v0/sql=abc', '/v0/sql…'],
    ['/v0/token-abc/sql', '/v0/…/sql'],
    ['/v0/tokens/abc', '/v0/tokens/…'],
    ['/v0/tokens?name=a', '/v0/tokens?name=a'],
    ['/v0/a%20b', '/v0/…'],
    ['/v0/pipes/top_pages.json?day=2026-01-01', '/v0/pipes/top_pages.json?…'],
    ['/v0/sql?q=SELECT%201', '/v0/sql?…'],
    ['/v0/%zz?name=a', '/v0/…?name=a'],
    ['', ''],
  ]
  for (const [url, logged] of urls) t.equal(loggedUrl(url), logged, url)
  t.ok(loggedUrl(`/${'a/'.repeat(40_000)}`).length < 1_100)
  t.ok(loggedUrl(`/v0/events?${'name=a&'.repeat(40_000)}`).length < 1_100)
})
