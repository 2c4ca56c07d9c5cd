import t from 'tap'
import { framePaddingBytes } from '../../../src/codec/frame-assembler.ts'
import type { ParseResult, ParseTask } from '../../../src/codec/parse-task.types.ts'
import { FairPlaces } from '../../../src/ingest/parse/fair-places.ts'
import { ParsePool } from '../../../src/ingest/parse/parse-pool.ts'
import { Semaphore } from '../../../src/ingest/semaphore.ts'
import { testDataSource } from '../../support/ingest/fake-store.ts'

const { columns } = testDataSource('n UInt32')

function taskOf(text: string): ParseTask {
  const body = Buffer.from(text)
  const frame = new Uint8Array(body.length + framePaddingBytes)
  frame.set(body)
  return {
    planKey: 'rows:1',
    columns,
    frame,
    byteCount: body.length,
    start: 0,
    bodyEnds: [body.length],
    record: { kind: 'ndjson' },
    partPaths: null,
  }
}

t.test('places are given out in the order of asking, and never more than there are', async (t) => {
  const places = new Semaphore(2)
  const got: number[] = []
  const ask = async (who: number): Promise<void> => {
    await places.acquire()
    got.push(who)
  }
  const asked = [0, 1, 2, 3].map(ask)
  await Promise.all(asked.slice(0, 2))
  t.same(got, [0, 1])
  places.release()
  await asked[2]
  t.same(got, [0, 1, 2])
  places.release()
  places.release()
  places.release()
  await asked[3]
  t.same(got, [0, 1, 2, 3])
  await ask(4)
  await ask(5)
  const late = ask(6)
  t.same(got, [0, 1, 2, 3, 4, 5], 'the places that came back are as many as before')
  places.release()
  await late
})

t.test('a body with many frames does not stand in front of the others', async (t) => {
  const places = new FairPlaces(3, 2)
  const got: string[] = []
  const ask = async (owner: string): Promise<void> => {
    await places.acquire(owner)
    got.push(owner)
  }
  const many = [0, 1, 2, 3].map(() => ask('many'))
  await Promise.all(many.slice(0, 2))
  t.same(got, ['many', 'many'], 'one place is left for others')
  await ask('other')
  const asked = [ask('other'), ask('third')]
  places.release('many')
  await asked[1]
  t.same(got.slice(2), ['other', 'third'], 'who holds none comes first')
  places.release('third')
  await many[2]
  places.release('many')
  places.release('many')
  await Promise.all([...many, ...asked])
  t.same([...got].sort(), ['many', 'many', 'many', 'many', 'other', 'other', 'third'])
})

t.test('a frame of another body finds a place while one body has all of its own', async (t) => {
  const pool = new ParsePool({ workers: 1, framesInFlightMax: 2, frameBytes: 4096 })
  t.teardown(() => pool.close())
  const use = gate()
  const hold = () => use.opened
  const many = [1, 2].map(() => pool.submit(taskOf('x\n'), hold, 'many'))
  await Promise.all(many)
  const waiting = pool.submit(taskOf('x\n'), hold, 'many')
  await (await pool.submit(taskOf('{"n":1}\n'), async ({ rowCount }) => void t.equal(rowCount, 1), 'other')).done
  use.open()
  for (const submitted of [...many, waiting]) await (await submitted).done
})

t.test('a frame waits for its place until an earlier result is used', async (t) => {
  const pool = new ParsePool({ workers: 2, framesInFlightMax: 2, frameBytes: 4096 })
  t.teardown(() => pool.close())
  const results: ParseResult[] = []
  const use = gate()
  const hold = async (result: ParseResult): Promise<void> => {
    results.push(result)
    await use.opened
  }
  const first = await pool.submit(taskOf('{"n":1}\n{"n":2}\n'), hold)
  const second = await pool.submit(taskOf('{"n":"x"}\n'), hold)
  let isThirdIn = false
  const third = pool.submit(taskOf('no object\n'), hold).then((submitted) => {
    isThirdIn = true
    return submitted
  })
  while (results.length < 2) await new Promise((resolve) => setImmediate(resolve))
  t.notOk(isThirdIn)
  use.open()
  await Promise.all([first.done, second.done, (await third).done])
  const counts = results.flatMap(({ bodies }) => bodies)
  t.match(
    counts.find(({ rows }) => rows > 0),
    { rows: 2, quarantined: 0 },
  )
  t.match(counts[2], { rows: 0, quarantined: 1, invalid: 1 })
})

t.test('a result that cannot be used fails its frame alone, and gives its place back', async (t) => {
  const pool = new ParsePool({ workers: 1, framesInFlightMax: 1, frameBytes: 4096 })
  t.teardown(() => pool.close())
  const { done } = await pool.submit(taskOf('{"n":1}\n'), async () => {
    throw new Error('no room')
  })
  await t.rejects(done, { message: 'no room' })
  const counts: number[] = []
  const count = async ({ rowCount }: ParseResult): Promise<void> => {
    counts.push(rowCount)
  }
  await (await pool.submit(taskOf('{"n":1}\n'), count)).done
  t.same(counts, [1])
})

t.test('a pool that is closed while its workers load ends in order', async (t) => {
  // Node 20 aborts the whole process when a worker is stopped in the middle of loading modules.
  for (let turn = 0; turn < 4; turn += 1) {
    const pool = new ParsePool({ workers: 2, framesInFlightMax: 2, frameBytes: 4096 })
    for (let round = 0; round < turn * 200; round += 1) await new Promise((resolve) => setImmediate(resolve))
    await pool.close()
  }
  t.pass('and the process lives')
})

function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = (): void => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open: () => open() }
}
