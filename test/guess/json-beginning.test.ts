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
    ['[]\n', 'array'],
    [' [ ] ', 'array'],
    ['[],x\n', null],
    ['{"a":"x\ty"}\n{"a":2}\n{"a":3}\n', 'lines'],
    ['{"a":1,\n{"a":2}\n', 'lines'],
    ['{"a":1}}\n{"a":2}\r\n\n{"a":3}', 'lines'],
    ['{\'a\':1}\n{"a":2}\n', 'lines'],
    ['{"a":1},x\n{"a":2}\n{"a":3}\n', 'lines'],
    ['{"a":1},x\n{"a":2},y\n{"a":3}\n', null],
    ['{"a":1},x\n', null],
    ['{"a":1\n', null],
    ['{"city",n\nx,1\ny,2\n', null],
    ["{'a'},x\n1,2\n", null],
    ['{"a":1},\n{"a":2},\n', 'commas'],
    ['{"a":1},\r\n{"a":2},\r\n\r\n{"a":3}', 'commas'],
    ['{"a":1},\n{"a":2}', 'commas'],
    ['{"a":1},', 'commas'],
    ['{"a":1} ,\n', 'commas'],
    ['{"a":1},\n{"a":2},x\n', null],
    ['{"a":1},\n{"a":2},\n2,y\n', null],
    ['{"type":"F","list":[\n{"a":1},\n{"a":2}\n', 'document'],
    ['{"type":"F","list":[{"a":"}"},\n{"a":"\\"["},\n', 'document'],
    ['{"a":{"b":1},\n"c":2', 'document'],
    ['{"a":"x,\ny",1\n', null],
    ['{"a,b":1],\n2,3\n', null],
    ['{"a",b,\n1,2,\n', null],
    ['[[1,2],[3,4]]', 'lists'],
    ['[\n  ["a", 1],', 'lists'],
    ['[1,2]\n[3,4]\n', 'lists'],
    ['["a","b"]\r\n["c","d"]', 'lists'],
    ['[1],x\n[2],y\n', null],
    ['[10/Oct/2000:13:55:36] a\n[10/Oct/2000:13:55:37] b\n', null],
    ['[1,2\n[3,4\n', null],
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
  const cut = '{"a":1},\n{"a":2},\n{"a":'
  t.equal(jsonBeginning(Buffer.from(cut), false), 'commas', 'a head that is cut in a record')
  t.equal(jsonBeginning(Buffer.from('[1,2]\n[3,4]\n[5'), false), 'lists', 'a head that is cut in an array')
})

t.test('UTF-16 is read by its mark', async (t) => {
  const bytes = Buffer.from('\ufeff{"a":"é"}\n{"a":2}\n', 'utf16le')
  t.equal(jsonBeginning(bytes, true), 'lines')
  t.equal(jsonBeginning(Buffer.from(bytes).swap16(), true), 'lines')
  t.equal(jsonBeginning(Buffer.from('\ufeffa,b\n1,2\n', 'utf16le'), true), null)
})
