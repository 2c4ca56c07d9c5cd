import t from 'tap'
import { guessCsv } from '../../src/guess/csv-guess.ts'

const rules = { delimiter: undefined, escapeCharacter: undefined, hasTypes: true, columnsMax: 500 }

function hasHeader(...lines: readonly string[]): boolean | undefined {
  return guessCsv({ bytes: Buffer.from(`${lines.join('\n')}\n`), isWhole: true }, rules)?.hasHeader
}

t.test('a first record that looks like those below it is a row, though all is text', async (t) => {
  const files: readonly (readonly string[])[] = [
    ['10.0.0.1,web1', '10.0.0.2,web2'],
    ['2026-01-01 10:00:00 ERROR x', '2026-01-01 10:00:01 INFO y'],
    ['2026-01-01T00:00:00Z INFO  started', '2026-01-01T00:00:01Z ERROR failed: x=1'],
    [
      '127.0.0.1 - - [10/Oct/2000:13:55:36 -0700] "GET /a.gif HTTP/1.0" 200 2326',
      '127.0.0.1 - - [10/Oct/2000:13:55:37 -0700] "GET /b.gif HTTP/1.0" 404 5',
    ],
    ['31/01/2026,foo', '01/02/2026,bar'],
    ['+49 170 123,anna', '+49 171 456,bob'],
    ['ORD-2024-0001,open', 'ORD-2024-0002,paid', ',', 'other,paid'],
    ['6ba7b810-9dad-11d1-80b4-00c04fd430c8,foo', 'ffffffff-9dad-11d1-80b4-00c04fd430c9,bar'],
    ['d41d8cd98f00b204e9800998ecf8427e,a', '0cc175b9c0f1b6a831c399e269772661,b'],
    ['{"a":1},x', '{"b":[2]},y'],
    ['[1],x', '[2],y'],
    ['ts=2026-01-01T00:00:00Z level=info', 'ts=2026-01-01T00:00:01Z level=warn'],
    ['a,1.2.3', 'b,1.2.4'],
  ]
  for (const lines of files) t.equal(hasHeader(...lines), false, lines.join(' / '))
})

t.test('names with numbers are names', async (t) => {
  const files: readonly (readonly string[])[] = [
    ['name,2024-Q1,2024-Q2', 'a,x,y', 'b,z,w'],
    ['item 1,item 2', 'pen 7,cup 8'],
    ['address_1,address_2', 'Main St 5,Flat 2', 'High St 17,'],
    ['ip v4,host', '10.0.0.1,web1', '10.0.0.2,web2'],
    ['[unit],x', 'kg,y', 'lb,z'],
    ['sales 01/2024,sales 02/2024', 'high,low', 'low,high'],
  ]
  for (const lines of files) t.equal(hasHeader(...lines), true, lines.join(' / '))
})

t.test('years, months and days that follow each other name their columns', async (t) => {
  const headers: readonly (readonly string[])[] = [
    ['Country,2019,2020', 'France,1,2', 'Spain,3,4'],
    ['Country,2019,2020', 'France,1.5,', 'Spain,,4.5'],
    ['Country,2019,2020', 'France,a,b', 'Spain,c,d'],
    ['Country,2000,2005,2010', 'France,1,2,3'],
    ['Country,2000,2001,2010', 'France,1,2,3'],
    ['2021,2020,2019', '5,6,7'],
    ['Country;2019;2020;Total', 'France;1;2;3'],
    ['name,2024-01,2024-02', 'a,1,2'],
    ['name,2024-01-01,2024-01-02,2024-01-05', 'a,present,absent,present'],
    ['"Country","2019","2020"', '"France","1","2"'],
  ]
  for (const lines of headers) t.equal(hasHeader(...lines), true, lines.join(' / '))
  const rows: readonly (readonly string[])[] = [
    ['anna,2019,2020', 'bob,2018,2021'],
    ['anna,2019,2020', 'bob,2018,2021', 'cy,1,2020'],
    ['2019,2020', '2021,2022'],
    ['anna,2019', 'bob,7'],
    ['2019,5', '2020,6'],
    ['1,2,3', '4,5,6'],
    ['2026-01-01,2026-01-02', '2026-02-01,2026-02-02'],
    ['anna,2019,2019', 'bob,1,2'],
  ]
  for (const lines of rows) t.equal(hasHeader(...lines), false, lines.join(' / '))
})
