import t from 'tap'
import { nothingFixed } from '../../src/query/fixed-parameters.ts'
import { inUsersWords, withNames } from '../../src/query/message-names.ts'
import { PlanCache } from '../../src/query/plan-cache.ts'
import { Rendering } from '../../src/query/rendering.ts'
import { ResponseCache } from '../../src/query/response-cache.ts'
import { TemplateCache } from '../../src/query/template-cache.ts'
import { compileQuery } from '../../src/sql/compile-query.ts'
import { wholeResult } from '../../src/store/embedded/result-file.ts'
import type { SelectStream } from '../../src/store/store.types.ts'
import { TestWorkspace } from '../support/query/test-workspace.ts'

const templates = new TemplateCache()

function rendering(parameters: Readonly<Record<string, string>>): Rendering {
  const values = new Map(Object.entries(parameters))
  return new Rendering({ templates, parameters: values, mode: 'run', secretOf: () => undefined })
}

t.test('a plan is kept for the texts of the nodes that it was made of', async (t) => {
  const { nodes } = new TestWorkspace().addPipe('p', {
    fixed: 'SELECT 1',
    first: '% SELECT {{Int32(a)}}',
    second: '% SELECT {{Int32(b)}}',
  })
  const plans = new PlanCache()
  let compiled = 0
  /** Reads the second templated node only when the first one says 2, as a query may. */
  const ask = (text: string, parameters: Readonly<Record<string, string>>, place = 'x') =>
    plans.plan({ place, text, rendering: rendering(parameters) }, (nodeText) => {
      compiled += 1
      const texts = nodes.slice(0, 2).map((node) => nodeText(node, nothingFixed))
      if (texts[1]?.includes("'2'")) texts.push(...nodes.slice(2).map((node) => nodeText(node, nothingFixed)))
      return compileQuery(`SELECT '${texts.join(' ').replaceAll("'", '')}'`, { scope: { find: () => undefined } })
    }).sql

  t.equal(ask('q', { a: '1' }), "SELECT 'SELECT 1  SELECT toInt32(1)'")
  t.equal(ask('q', { a: '1', b: '5' }), "SELECT 'SELECT 1  SELECT toInt32(1)'")
  t.equal(compiled, 1, 'a value that no text has changes nothing')
  t.equal(ask('q', { a: '2', b: '5' }), "SELECT 'SELECT 1  SELECT toInt32(2)  SELECT toInt32(5)'")
  t.equal(ask('q', { a: '2', b: '6' }), "SELECT 'SELECT 1  SELECT toInt32(2)  SELECT toInt32(6)'")
  t.equal(ask('q', { a: '2', b: '5' }), "SELECT 'SELECT 1  SELECT toInt32(2)  SELECT toInt32(5)'")
  t.equal(compiled, 3)
  ask('other', { a: '1' })
  ask('q', { a: '1' }, 'y')
  t.equal(compiled, 5, 'another text, another place')
  t.throws(() => ask('q', { a: '2' }), { code: 'TEMPLATE_INVALID' })
  ask('q\0% SELECT toInt32(1)', { a: '1' })
  ask('q\0 SELECT toInt32(1)', { a: '1' })
  t.equal(compiled, 7, 'a text does not look like two')
})

async function* chunks(...texts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text)
}

async function readAll(stream: SelectStream | undefined): Promise<string | undefined> {
  if (stream === undefined) return undefined
  let text = ''
  for await (const chunk of stream) text += Buffer.from(chunk).toString()
  return text
}

t.test('an answer is kept until its time is over, if it was read to its end', async (t) => {
  let now = 0
  const cache = new ResponseCache({ bytesMax: 800, now: () => now })
  t.equal(await readAll(cache.keep('a', 1_000, chunks('x', 'y'))), 'xy')
  t.equal(await readAll(cache.keep('b', 2_000, wholeResult(Buffer.from('z')))), 'z')
  t.equal(await readAll(cache.find('a')), 'xy')
  t.equal(await readAll(cache.find('a')), 'xy')
  for await (const _ of cache.keep('left', 1_000, chunks('x', 'y'))) break
  t.equal(cache.find('left'), undefined)
  now = 999
  t.ok(cache.find('a'))
  now = 1_000
  t.equal(cache.find('a'), undefined)
  t.equal(await readAll(cache.find('b')), 'z')
})

t.test('an answer takes an eighth of the cache at most', async (t) => {
  for (const [length, isKept] of [
    [99, true],
    [100, false],
  ] as const) {
    const text = 'x'.repeat(length)
    for (const body of [wholeResult(Buffer.from(text)), chunks(text.slice(0, 50), text.slice(50))]) {
      const cache = new ResponseCache({ bytesMax: 800, now: () => 0 })
      t.equal(await readAll(cache.keep('k', 1_000, body)), text)
      t.equal(cache.find('k') !== undefined, isKept, `${length} bytes and a key of one`)
    }
  }
  const none = new ResponseCache({ bytesMax: 0, now: () => 0 })
  await readAll(none.keep('k', 1_000, chunks('')))
  t.equal(none.find('k'), undefined)
})

t.test('tables of the engine have the names of their data sources', async (t) => {
  const workspace = new TestWorkspace()
  const { id } = workspace.addDataSource('events', 'id UInt32')
  t.equal(
    withNames(`FROM \`ws_0001\`.\`${id}\` AS e, ws_0001.${id}_quarantine`, workspace),
    'FROM `events` AS e, events_quarantine',
  )
  const step =
    "FUNCTION throwIf(_CAST(1_UInt8, 'UInt8'_String) :: 1) -> throwIf(_CAST(1_UInt8, 'UInt8'_String)) UInt8 : 3"
  t.equal(inUsersWords(`mine: while executing '${step}'. (THROWN)`, workspace), "mine, in function 'throwIf'. (THROWN)")
  t.equal(inUsersWords('No keys.. (NOT_AN_AGGREGATE)', workspace), 'No keys. (NOT_AN_AGGREGATE)')
  t.equal(withNames(`ws_0001.t_${'0'.repeat(32)}`, workspace), `t_${'0'.repeat(32)}`)
})
