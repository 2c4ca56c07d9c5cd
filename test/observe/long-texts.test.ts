// Texts of callers come into the log and into service rows by way of these functions, on the thread that answers everybody.
import t from 'tap'
import { cutText, LogSecrets, withoutTokens } from '../../src/observe/log-secrets.ts'
import { withoutQuoted } from '../../src/observe/quoted-rows.ts'
import { secretNameSource } from '../../src/observe/secret-names.ts'
import { RowSecrets } from '../../src/service-rows/row-secrets.ts'
import { ServiceRecorder } from '../../src/service-rows/service-recorder.ts'
import { beginningOf } from '../../src/shared/beginning-of.ts'
import { cleanMessage, withoutInternals } from '../../src/store/engine-message.ts'
import { SeededRandom, testSeed } from '../support/seeded-random.ts'
import { byTier } from '../support/tier.ts'

const pieces = [
  'a',
  'Zz09',
  ' ',
  '   ',
  '\n',
  '.',
  '-',
  '_',
  '%',
  '=',
  '/',
  '[',
  ']',
  "'",
  '"',
  '\\',
  '\\\\',
  '\\u0041',
  '%41',
  '&#65;',
  ';',
  ',',
  '<',
  ':',
  'é',
  '😀',
  'token',
  'token=',
  'api_key',
  'pass',
  'passenger',
  'sig',
  'authorization: ',
  'Authorization:basic ',
  'bearer ',
  'Bearer',
  'basic ',
  '[redacted]',
  'p.',
  'eyJ',
  'eyJhYmNk',
  '.c2lnbmVk',
  'session-id = ',
  'x'.repeat(600),
]

const randomText = createTexts()

function createTexts(): () => string {
  const seed = testSeed()
  t.comment(`SEED=${seed}`)
  const random = new SeededRandom(seed)
  return () => Array.from({ length: random.below(40) }, () => pieces[random.below(pieces.length)] ?? '').join('')
}

/** Of a text that nothing has cut. */
const lettersMax = 400_000
const textCount = byTier({ quick: 3_000, full: 30_000, soak: 300_000 })

t.test('a text is cut as by a search for the last word of it', async (t) => {
  for (let count = 0; count < textCount; count += 1) {
    const text = randomText()
    const charsMax = 1 + (count % 700)
    const slow = `${beginningOf(text, charsMax).replace(/[A-Za-z0-9._~+/=%-]{1,512}$/, '')}…`
    const expected = text.length <= charsMax ? text : slow
    if (cutText(text, charsMax) !== expected) t.equal(cutText(text, charsMax), expected)
  }
})

t.test('secrets, tokens and quoted texts are found as by searches from each place', async (t) => {
  const names = new RegExp(
    `((?:(?:${secretNameSource})[\\w[\\]-]*\\s*=\\s*(?:(?:bearer|basic)\\s+)?|authorization\\s*:\\s*(?:(?:bearer|basic)\\s+)?|bearer\\s+))` +
      '(?!\\[redacted\\]|<|bearer|basic)[^\\s&"\'\\\\,;)}\\]]+',
    'gi',
  )
  const shape = /(?<![A-Za-z0-9])(?:p\.)?eyJ[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_~+/=-]*)*/g
  const whole = /(?<![A-Za-z0-9])(?:p\.eyJ[A-Za-z0-9_-]{4,}|eyJ[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]+)\.[A-Za-z0-9_-]+/g
  const secrets = new LogSecrets()
  for (let count = 0; count < textCount; count += 1) {
    const text = randomText()
    const cleaned = text.replace(shape, '[redacted]').replace(names, (_, name: string) => `${name}[redacted]`)
    if (secrets.cleanText(text) !== cleaned) t.equal(secrets.cleanText(text), cleaned, JSON.stringify(text))
    const told = text.replace(whole, '[redacted]')
    if (withoutTokens(text) !== told) t.equal(withoutTokens(text), told, JSON.stringify(text))
    const unquoted = text.replace(/'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"/gs, "'…'")
    if (withoutQuoted(text) !== unquoted) t.equal(withoutQuoted(text), unquoted, JSON.stringify(text))
  }
})

// Searches from each place, whose time grows with the square of the length, take minutes for texts as long as these.
t.test('a text of hundreds of thousands of characters comes to its end', async (t) => {
  const secrets = new LogSecrets()
  const writer = { add: () => undefined, droppedCount: 0, wake: () => undefined }
  const recorder = new ServiceRecorder(writer, new RowSecrets(secrets))
  const works: readonly (readonly [string, string, (text: string) => unknown])[] = [
    ['cutText', 'a', (text) => cutText(text, text.length - 1)],
    ['cleanValue', 'token', (text) => secrets.cleanValue(text)],
    ['cleanValue', '\\', (text) => secrets.cleanValue(`${text}%`)],
    ['withoutTokens', '-eyJaaaa', withoutTokens],
    ['withoutQuoted', "\\'", withoutQuoted],
    ['cleanMessage', ' ', (text) => cleanMessage(`Code: 6. DB::Exception: '${text}x'. (A_B)`)],
    ['cleanMessage', '/', (text) => cleanMessage(`Code: 6. DB::Exception: '${text}x'. (A_B)`)],
    ['cleanMessage', '(A_B).', (text) => cleanMessage(`Code: 6. DB::Exception: ${text}x. (A_B)`)],
    ['cleanMessage', '/clickhouse/ and /', (text) => cleanMessage(`/clickhouse${text.replaceAll(/[^/]/g, '/')}`)],
    ['withoutInternals', 'failed at position 1 (', (text) => withoutInternals(`${text}. (A_B)`)],
    ['withoutInternals', '. Note: there are ', (text) => withoutInternals(`${text}x`)],
    ['withoutInternals', ': Note: ', (text) => withoutInternals(`: In scope SELECT ${text}x`)],
    ['withoutInternals', '. Maybe you meant: [', (text) => withoutInternals(`${text}. (A_B)`)],
    ['withoutInternals', ' requires expression ', (text) => withoutInternals(`ARRAY JOIN ${text}`)],
    [
      ...(['withoutInternals', ', error: '] as const),
      (text) => withoutInternals(`OptimizedRegularExpression: cannot compile re2: ${text}`),
    ],
    ['withoutInternals', 'Lambda -> ', (text) => withoutInternals(`'${text}'. (A_B)`)],
    ['a request', 'a', (text) => recorder.request(requestOf(text))],
  ]
  for (const [name, piece, work] of works) {
    work(piece.repeat(lettersMax / piece.length))
    t.pass(`${name} of ${piece}…`)
  }
})

function requestOf(text: string) {
  return {
    requestId: 'r',
    pipeId: 'p',
    pipeName: 'p',
    startedAtMs: 0,
    durationMs: 1,
    url: `/v0/sql?a=${text}`,
    parameters: { a: text, b: text },
    method: 'GET',
    statusCode: 429,
    error: text,
    tokenId: 't',
    tokenName: 't',
    isJwt: false,
    userAgent: text,
    readRows: 0,
    readBytes: 0,
    resultRows: 0,
  }
}

t.test('a text that was told clean is looked at again once a secret is known that stands in it', async (t) => {
  const secrets = new LogSecrets()
  const secret = 'k8dj2hs9wq'
  // It says `token`, so that it is searched as a whole, and what was found is kept.
  const name = `token of ${secret}`
  t.equal(secrets.cleanValue(name), name)
  t.equal(secrets.cleanValue(name), name)
  secrets.hide(secret)
  t.equal(secrets.cleanValue(name), 'token of [redacted]')
})
