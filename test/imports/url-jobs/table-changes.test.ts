import t from 'tap'
import { TableChanges } from '../../../src/imports/url-jobs/table-changes.ts'
import { openSettings } from '../../../src/storage/settings.ts'
import { MemoryStorage } from '../../support/storage/memory-storage.ts'

t.test('changes of one data source beside each other are noted, each by a number of its own', async (t) => {
  const settings = await openSettings(new MemoryStorage())
  const changes = new TableChanges({ settings, hasUnfinished: (id) => id === 'imported' })
  const begun: string[] = []
  const run = changes.notedIn(async (ids, change) => {
    begun.push(...ids)
    return await change()
  })
  const before = changes.countOf('imported')
  const kinds = ['truncate', 'delete', 'replace', 'alter']
  const made = kinds.map((kind) => run(['imported', 'other'], async () => kind))
  t.same(await Promise.all(made), kinds)
  t.equal(begun.length, 8)
  t.equal(changes.countOf('imported'), before + 4)
  t.equal(changes.countOf('other'), 0, 'nothing is to be known of what nobody imports into')
})

t.test('what is counted while a change is under way is not counted again, neither within the next one', async (t) => {
  const settings = await openSettings(new MemoryStorage())
  const changes = new TableChanges({ settings, hasUnfinished: () => true })
  const counts = new Set([changes.countOf('imported')])
  for (let change = 0; change < 3; change += 1) {
    let within = 0
    const ended = changes.notedIn((_ids, changed) => changed())(['imported'], async () => {
      within = changes.countOf('imported')
    })
    const begun = changes.countOf('imported')
    await ended
    t.equal(within, begun, 'the same while it is under way')
    counts.add(within).add(changes.countOf('imported'))
  }
  t.equal(counts.size, 7)
})
