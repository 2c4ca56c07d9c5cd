import t from 'tap'
import { toLogText } from '../../src/observe/log-text.ts'

const time = '2026-01-02T03:04:05.678Z'

t.test('an entry is one line for people: clock, level, sentence, values', async (t) => {
  const entry = { level: 'info', time, rowCount: 3, dataSource: 'visits', path: 'a b', msg: 'The rows are stored.' }
  t.equal(
    toLogText(`${JSON.stringify(entry)}\n`),
    '03:04:05.678 info  The rows are stored. rowCount=3 dataSource=visits path="a b"\n',
  )
})

t.test('an error has its stack on lines of its own', async (t) => {
  const err = { type: 'Error', message: 'No room.', stack: 'Error: No room.\n    at store (store.ts:1:2)' }
  const entry = { level: 'error', time, err, msg: 'Rows are lost.' }
  t.equal(
    toLogText(JSON.stringify(entry)),
    '03:04:05.678 error Rows are lost.\n    Error: No room.\n    at store (store.ts:1:2)\n',
  )
})

t.test('nothing in an entry reaches a terminal as a command', async (t) => {
  const hostile = '\u001b[2J\u0007\u009b31m\u2028\r\n'
  const entry = { level: 'warn', time, name: hostile, err: { stack: hostile }, msg: hostile }
  const text = toLogText(JSON.stringify(entry))
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what a terminal would obey.
  t.notMatch(text, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028]/)
})

t.test('what is no entry is shown as it is', async (t) => {
  for (const line of ['millrace: did not start\n', '17\n', '{"level":\n']) t.equal(toLogText(line), line)
})
