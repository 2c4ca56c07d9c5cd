// What callers read of the engine's messages; the messages are its own.
import t from 'tap'
import { cleanMessage, withoutInternals } from '../../src/store/engine-message.ts'

t.test('a syntax error keeps its place and its token, and nothing of what follows', async (t) => {
  for (const [message, told] of [
    [
      "Syntax error: failed at position 8 (FROM) (line 1, col 8): FROM x WHERE 'a'. Expected one of: token, identifier. (SYNTAX_ERROR)",
      'Syntax error: failed at position 8 (FROM) (line 1, col 8): FROM. Expected one of: identifier. (SYNTAX_ERROR)',
    ],
    [
      'failed at position 3 (a): b failed at position 9 (c): d... (SYNTAX_ERROR)',
      'failed at position 3 (a): a. (SYNTAX_ERROR)',
    ],
    ['failed at position 3 (without an end', 'failed at position 3 (without an end'],
  ] as const) {
    t.equal(withoutInternals(message), told)
  }
})

t.test('a regular expression that cannot be read is told with its reason and its function', async (t) => {
  const message =
    "OptimizedRegularExpression: cannot compile re2: (a, error: b, error: missing ): (a. Look at https://x for reference. Please note: while executing 'FUNCTION match(s : 1)'. (CANNOT_COMPILE_REGEXP)"
  t.equal(
    withoutInternals(message),
    "The regular expression '(a, error: b' cannot be read, in function 'match': missing ): (a. Its syntax is that of RE2; in a text of SQL write \\\\ for each \\. (CANNOT_COMPILE_REGEXP)",
  )
})

t.test('what ARRAY JOIN takes, and the function behind a note, are told in other words', async (t) => {
  t.equal(
    withoutInternals(
      'ARRAY JOIN of a query requires expression n + 1 with Array or Map type. Actual: UInt8. (TYPE_MISMATCH)',
    ),
    'ARRAY JOIN takes an Array or a Map, and n + 1 is UInt8. (TYPE_MISMATCH)',
  )
  t.equal(
    withoutInternals(
      "Cannot parse. Note: there are 3 more: while executing 'FUNCTION toDate(s : 1)'. (CANNOT_PARSE_DATE)",
    ),
    "Cannot parse, in function 'toDate'. Note: there are 3 more. (CANNOT_PARSE_DATE)",
  )
})

t.test('a path to our files is words, from its beginning to its last folder of ours', async (t) => {
  for (const [word, told] of [
    ['/srv/millrace/clickhouse/store/a.bin', 'a file of the service'],
    ['file:///srv/parts/a.arrow:', 'a file of the service:'],
    ['x/srv/results/parts/a,b', 'xa file of the service,b'],
    ['/clickhouse/a', '/clickhouse/a'],
    ['https://clickhouse.com/docs', 'https://clickhouse.com/docs'],
  ] as const) {
    t.equal(cleanMessage(`Cannot open ${word} now. (A_B)`), `Cannot open ${told} now. (A_B)`)
  }
})
