import t from 'tap'
import type { DataSource } from '../../../src/catalog/data-source.types.ts'
import type { DataSourceEvents } from '../../../src/ingest/events/data-source-events.ts'
import { EventsByDataSource } from '../../../src/ingest/events/events-by-data-source.ts'
import type { Sequence } from '../../../src/wal/sequence.ts'

// Nothing else of a data source is used.
const sourceOf = (id: string) => ({ id }) as unknown as DataSource

function open(firsts: Readonly<Record<string, number | null>>) {
  let createdCount = 0
  const byId = new EventsByDataSource(({ id }) => {
    createdCount += 1
    const firstOutstanding = firsts[id] ?? null
    const events = { stream: id, firstOutstanding, status: { waitingRows: createdCount } }
    // It has what is asked of events here.
    return events as unknown as DataSourceEvents
  })
  return { byId, created: () => createdCount }
}

t.test('the events of a data source are begun once, and again after they were removed', async (t) => {
  const { byId, created } = open({})
  t.equal(byId.find('a'), undefined)
  const events = byId.of(sourceOf('a'))
  t.equal(byId.of(sourceOf('a')), events)
  t.equal(byId.find('a'), events)
  byId.remove('a')
  t.not(byId.of(sourceOf('a')), events)
  t.equal(created(), 2)
})

t.test('what waits is summed, and the oldest of it is found over all data sources', async (t) => {
  const { byId } = open({ a: 30, b: null, c: 10 })
  t.equal(byId.firstOutstanding(), null)
  for (const id of ['a', 'b', 'c']) byId.of(sourceOf(id))
  t.equal(byId.waitingRows(), 1 + 2 + 3)
  t.equal(byId.firstOutstanding(), 10)
  // A sequence is a number of the log.
  t.same([...byId.outstandingBefore(30 as Sequence)], [['c', 10]])
  t.same([...byId.outstandingBefore(31 as Sequence).keys()], ['a', 'c'])
})
