import t from 'tap'
import { parseJsonPath } from '../../../src/schema/columns/json-path.ts'
import { TextError } from '../../../src/shared/text-error.ts'

t.test('a path leads to a value of the record', async (t) => {
  t.same(parseJsonPath('$'), { keys: [], element: null })
  t.same(parseJsonPath('$.a'), { keys: ['a'], element: null })
  t.same(parseJsonPath('$.a.b.c.d'), { keys: ['a', 'b', 'c', 'd'], element: null })
})

t.test('[:] takes an array apart', async (t) => {
  t.same(parseJsonPath('$.a[:]'), { keys: ['a'], element: [] })
  t.same(parseJsonPath('$.a.b[:]'), { keys: ['a', 'b'], element: [] })
  t.same(parseJsonPath('$.a[:].b'), { keys: ['a'], element: ['b'] })
  t.same(parseJsonPath('$.a.b[:].c.d'), { keys: ['a', 'b'], element: ['c', 'd'] })
  t.same(parseJsonPath('$.a.[:]'), { keys: ['a'], element: [] }, 'also with a dot in front')
})

t.test('keys are any text that real records have', async (t) => {
  t.same(parseJsonPath('$.@type').keys, ['@type'])
  t.same(parseJsonPath('$.user-agent').keys, ['user-agent'])
  t.same(parseJsonPath('$.año.名前.🦀').keys, ['año', '名前', '🦀'])
  t.same(parseJsonPath('$.first name').keys, ['first name'])
  t.same(parseJsonPath('$.0').keys, ['0'])
  t.same(parseJsonPath('$.$ref').keys, ['$ref'])
  t.same(parseJsonPath('$.a:b/c').keys, ['a:b/c'])
  t.same(parseJsonPath('$.["a b"]').keys, ['a b'])
  t.same(parseJsonPath('$["a.b"]').keys, ['a.b'])
  t.same(parseJsonPath("$['a']['b']").keys, ['a', 'b'])
  t.same(parseJsonPath("$.a.['b[:]'].c").keys, ['a', 'b[:]', 'c'])
  t.same(parseJsonPath('$."a.b".c').keys, ['a.b', 'c'])
  t.same(parseJsonPath('$.`a b`').keys, ['a b'])
  t.same(parseJsonPath('$["a\\"b\\\\c\\d"]').keys, ['a"b\\c\\d'], 'a backslash escapes its quote and itself')
  t.same(parseJsonPath('$[""]').keys, [''], 'the empty key exists in JSON')
})

t.test('wrong paths are refused with the place and the reason', async (t) => {
  const refused: readonly (readonly [string, number, string])[] = [
    ['', 0, "JSONPath '' does not begin with $. Hint: write $.key."],
    ['a.b', 0, "JSONPath 'a.b' does not begin with $. Hint: write $.a.b."],
    ['$a', 1, 'Unexpected \'a\' in the JSONPath. Hint: keys look like .key or ["key"].'],
    ['$.', 2, 'Empty key in the JSONPath'],
    ['$..a', 2, 'Empty key in the JSONPath'],
    ['$.a.', 4, 'Empty key in the JSONPath'],
    ['$.a..b', 4, 'Empty key in the JSONPath'],
    ['$.*', 2, 'JSONPath knows no *. Hint: name the key.'],
    ['$.a[0]', 3, 'JSONPath takes one element of an array. Hint: only [:] takes all, one by one.'],
    ['$.a[*]', 3, 'JSONPath takes one element of an array. Hint: only [:] takes all, one by one.'],
    ['$.a[0:2]', 3, 'JSONPath takes one element of an array. Hint: only [:] takes all, one by one.'],
    ['$.a[', 3, 'JSONPath takes one element of an array. Hint: only [:] takes all, one by one.'],
    ['$.a]', 3, 'Unexpected \']\' in the JSONPath. Hint: keys look like .key or ["key"].'],
    ['$[:]', 1, 'JSONPath takes the record itself as an array. Hint: name the key before [:].'],
    ['$["a]', 2, 'Key without its closing " in the JSONPath'],
    ['$["a"', 5, 'Unexpected the end in the JSONPath. Hint: keys look like .key or ["key"].'],
    ['$.a"b', 3, 'Unexpected \'"\' in the JSONPath. Hint: keys look like .key or ["key"].'],
    ['$. a', 2, 'Blank at the start or end of a key in the JSONPath. Hint: write [" a"].'],
    ['$.a\n', 3, 'Unexpected \'\n\' in the JSONPath. Hint: keys look like .key or ["key"].'],
  ]
  for (const [text, offset, message] of refused) {
    t.equal(faultOf(text)?.message, message, JSON.stringify(text))
    t.equal(faultOf(text)?.offset, offset, `offset in ${JSON.stringify(text)}`)
  }
})

t.test('a second array is refused, whatever stands between', async (t) => {
  for (const text of ['$.a[:][:]', '$.a[:].b[:]', '$.a.b[:].c.d[:].e']) {
    t.match(faultOf(text)?.message, /^JSONPath has a second \[:\]\. Hint: arrays are taken apart at the first level/)
  }
})

t.test('a path has at most 64 keys', async (t) => {
  t.equal(parseJsonPath(`$${'.a'.repeat(64)}`).keys.length, 64)
  t.match(faultOf(`$${'.a'.repeat(65)}`)?.message, /more than 64 keys/)
})

function faultOf(text: string): TextError | null {
  try {
    parseJsonPath(text)
    return null
  } catch (error) {
    if (error instanceof TextError) return error
    throw error
  }
}
