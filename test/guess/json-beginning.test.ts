import t from 'tap'
import { jsonBeginning } from '../../src/guess/json-beginning.ts'

t.test('JSON is told from CSV by the whole first record', async (t) => {
  const cases = [
    ['{"a":1}\n{"a":2}\n', 'lines'],
    ['{"a":1}', 'lines'],
    ['  {"a":1}\r\n{"a":2}', 'lines'],
    ['\ufeff{"a":1}\n', 'lines'],
    ['{}\n{"a":1}\n', 'lines'],
    ['[{"a":1},{"a":2}]', 'array'],
    ['[\n  {\n    "a": 1\n  }\n]', 'array'],
    ['{\n  "a": 1\n}', 'document'],
    ['{"a":\n1}', 'document'],
    ['{\n  "a": {\n    "b": 1', 'document'],
    ['{"a":1},x\n2,y\n', null],
    ['{a},b\n', null],
    ['"id"\n1\n', null],
    ['1\n2\n', null],
    ['true\nfalse\n', null],
    ['[1,2]\n', null],
    ['[]\n', null],
    ['{', null],
    ['', null],
  ] as const
  for (const [text, beginning] of cases)
    t.equal(jsonBeginning(Buffer.from(text), true), beginning, JSON.stringify(text))
  t.equal(
    jsonBeginning(Buffer.from('{"a":"a record that goes on'), false),
    'lines',
    'a record that is longer than the head',
  )
})
