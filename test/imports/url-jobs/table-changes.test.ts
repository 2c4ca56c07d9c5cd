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
