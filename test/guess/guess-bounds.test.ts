import t from 'tap'
import { guessCsvBody, guessRecordsBody } from '../../src/guess/body-guess.ts'
import { guessParquet } from '../../src/guess/parquet-guess.ts'
import { sampleRecords } from '../../src/guess/record-sample.ts'
import { jsonExcess } from '../../src/shared/json-bounds.ts'

const columnsMax = 20
const csvRules = { delimiter: undefined, escapeCharacter: undefined, hasTypes: true, columnsMax }

function sampleOf(text: string) {
  return { bytes: Buffer.from(text), isWhole: true }
}

/** How many columns are guessed, or the code of the refusal. */
function outcomeOf(guess: () => { readonly columns: readonly unknown[] } | null): number | string {
  try {
    return guess()?.columns.length ?? 0
  } catch (error) {
    // What a guess throws is an error of the table.
    return (error as { readonly code: string }).code
  }
}

function object(count: number, prefix = 'k'): string {
  return `{${Array.from({ length: count }, (_, index) => `"${prefix}${index}":1`).join(',')}}`
}

t.test('JSON gives as many columns as a data source may have, and is refused beyond', async (t) => {
  const lines = Array.from({ length: 21 }, (_, index) => `{"k${index}":1}`)
  const cases: readonly (readonly [name: string, text: string, outcome: number | string])[] = [
    ['one below', object(19), 19],
    ['as many', object(20), 20],
    ['one more', object(21), 'COLUMNS_TOO_MANY'],
    ['many more', object(50_000), 'COLUMNS_TOO_MANY'],
    ['nested', `{"a":${object(20)}}`, 20],
    ['nested, one more', `{"a":${object(10)},"b":${object(11)}}`, 'COLUMNS_TOO_MANY'],
    ['each record another key', lines.join('\n'), 'COLUMNS_TOO_MANY'],
    ['each record another key, few enough', lines.slice(0, 20).join('\n'), 20],
    ['as deep as objects are taken apart', `{"a":{"b":{"c":{"d":${object(20)}}}}}`, 20],
    ['deeper, so that it is one text', `{"a":{"b":{"c":{"d":{"e":${object(50_000)}}}}}}`, 1],
    ['in an array, so that it is one text', `{"a":[${object(50_000)}]}`, 1],
    ['an array of many objects', `{"a":[${Array.from({ length: 1_000 }, () => object(3)).join(',')}]}`, 1],
    [
      'keys that become the same name',
      `{${Array.from({ length: 20 }, (_, n) => `"a${'-'.repeat(n)}":1`).join(',')}}`,
      20,
    ],
    ['keys that no path can have', `{${Array.from({ length: 500 }, (_, n) => `"'${n}":1`).join(',')},"a":1}`, 1],
    ['too many keys to look at', object(100_001), 'KEYS_TOO_MANY'],
    ['too many keys in an array', `{"a":[${object(100_001)}]}`, 'KEYS_TOO_MANY'],
    [
      'names of the language',
      '{"__proto__":1,"constructor":2,"toString":3,"hasOwnProperty":4,"valueOf":{"__proto__":5}}',
      5,
    ],
  ]
  for (const [name, text, outcome] of cases) {
    t.equal(
      outcomeOf(() => guessRecordsBody(sampleOf(text), { columnsMax })),
      outcome,
      name,
    )
  }
})

t.test('JSON that is nested deeper than rows may be is left out, and refused where nothing is left', async (t) => {
  const deep = (depth: number) => `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`
  t.equal(sampleRecords(Buffer.from(deep(500))).length, 1)
  t.throws(() => sampleRecords(Buffer.from(deep(501))), { code: 'NESTING_TOO_DEEP' })
  t.throws(() => sampleRecords(Buffer.from('['.repeat(1_000_000))), { code: 'NESTING_TOO_DEEP' })
  t.throws(() => sampleRecords(Buffer.from('{"a":'.repeat(1_000_000))), { code: 'NESTING_TOO_DEEP' })
  t.equal(sampleRecords(Buffer.from(`${deep(501)}\n{"a":1}\n`)).length, 1)
  t.equal(sampleRecords(Buffer.from(JSON.stringify({ a: '[{'.repeat(1_000) }))).length, 1)
})

t.test('CSV gives as many columns as a data source may have, and is refused beyond', async (t) => {
  const header = (count: number) => Array.from({ length: count }, (_, index) => `c${index}`).join(',')
  const row = (count: number) => Array.from({ length: count }, (_, index) => index).join(',')
  const cases: readonly (readonly [name: string, text: string, outcome: number | string])[] = [
    ['as many', `${header(20)}\n${row(20)}\n`, 20],
    ['one more', `${header(21)}\n${row(21)}\n`, 'COLUMNS_TOO_MANY'],
    ['many more', `${header(40_000)}\n`, 'COLUMNS_TOO_MANY'],
    ['commas alone', `${','.repeat(100_000)}\n`, 'COLUMNS_TOO_MANY'],
    ['a header alone that is too long', `${header(21)}\n${row(3)}\n${row(3)}\n`, 'COLUMNS_TOO_MANY'],
    ['rows without a header', `${row(21)}\n${row(21)}\n`, 'COLUMNS_TOO_MANY'],
    ['one row of many that is too long', `a,b\n1,2\n3,4\n${row(5_000)}\n5,6\n`, 2],
    ['names of the language', '__proto__,constructor,toString\n1,2,3\n', 3],
  ]
  for (const [name, text, outcome] of cases) {
    t.equal(
      outcomeOf(() => guessCsvBody(sampleOf(text), csvRules)),
      outcome,
      name,
    )
  }
})

t.test('the columns of a Parquet file have the same bound', async (t) => {
  const fields = (count: number) => Array.from({ length: count }, (_, index) => ({ name: `c${index}`, type: null }))
  t.equal(
    outcomeOf(() => guessParquet(fields(20), [], { columnsMax })),
    20,
  )
  t.equal(
    outcomeOf(() => guessParquet(fields(21), [], { columnsMax })),
    'COLUMNS_TOO_MANY',
  )
  t.match(guessParquet([{ name: 'constructor', type: null }], [{}], { columnsMax }).columns, [{ presentShare: 0 }])
})

t.test('keys and levels are counted outside of texts alone', async (t) => {
  const bounds = { keysMax: 2, depthMax: 3 }
  const cases: readonly (readonly [text: string, excess: string | null])[] = [
    ['{"a":1,"b":2}', null],
    ['{"a":1,"b":2,"c":3}', 'keys'],
    ['{"a":{"b":{"c":1}}}', 'keys'],
    ['[[[1]]]', null],
    ['[[[[1]]]]', 'depth'],
    ['[[[[', 'depth'],
    ['[[],[],[],[[]],[[]]]', null],
    ['{"a:b:c:d":"[[[[{{{{\\"::::"}', null],
    ['{"a\\\\":1,"b\\\\\\"":2,"c":3}', 'keys'],
    ['"[[[[', null],
    ['', null],
  ]
  for (const [text, excess] of cases) t.equal(jsonExcess(text, bounds), excess, text)
})
