import t from 'tap'
import { createRowCounter } from '../../src/query/answer-rows.ts'

function countOf(format: string, text: string, size = 3): number | null {
  const counter = createRowCounter(format)
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) counter.take(bytes.subarray(at, at + size))
  return counter.count()
}

t.test('rows are counted where a format shows them', async (t) => {
  const cases: readonly (readonly [format: string, text: string, count: number | null])[] = [
    ['CSV', '"a\nb",1\n"c""\n""",2\n', 2],
    ['CSVWithNames', '"n"\n1\n2\n', 2],
    ['CSVWithNamesAndTypes', '"n"\n"UInt8"\n', 0],
    ['TSV', 'a\\nb\n"\n', 2],
    ['TSVRaw', 'a\nb\n', null],
    ['JSONEachRow', '{"a":"\\n"}\n{"a":2}\n', 2],
    ['JSONCompactEachRowWithNames', '["a"]\n[1]\n', 1],
    ['JSON', '{"data":[{"rows": 9}],\n\t"rows": 1,\n\t"statistics": {"elapsed": 0.1}}', 1],
    ['JSONCompact', '{"data":[[1],[2]],"rows":2}', 2],
    ['JSONColumns', '{"n":[1]}', null],
    ['PrettyJSONEachRow', '{\n}\n', null],
    ['Parquet', 'PAR1', null],
    ['Pretty', '┌', null],
    ['CSV', '', 0],
    ['JSON', '', null],
  ]
  for (const [format, text, count] of cases) {
    t.equal(countOf(format, text), count, `${format} ${text}`)
    t.equal(countOf(format, text, 10_000), count, `${format} as a whole`)
  }
})
