import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { definitionGroups } from '../../../src/shared/errors/definitions.ts'
import { errorTable } from '../../../src/shared/errors/errors.ts'
import { repositoryRoot } from '../../support/repository-root.ts'

const groups = Object.entries(definitionGroups)

t.test('no code is in two files of the table, and none is missing in the whole', async (t) => {
  const ofGroups = groups.flatMap(([, definitions]) => Object.keys(definitions))
  t.same(ofGroups.toSorted(), [...new Set(ofGroups)].toSorted())
  t.same(errorTable.map(({ code }) => code).toSorted(), ofGroups.toSorted())
})

t.test('the table and each of its files are sorted by status', async (t) => {
  for (const [name, definitions] of groups) {
    const statuses = Object.values(definitions).map(({ status }) => status)
    t.same(statuses, statuses.toSorted(), name)
  }
  const statuses = errorTable.map(({ status }) => status)
  t.same(statuses, statuses.toSorted())
})

t.test('each code is raised somewhere', async (t) => {
  const folder = join(repositoryRoot, 'src')
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.ts') && !file.startsWith(join('shared', 'errors')),
  )
  const sources = files.map((file) => readFileSync(join(folder, file), 'utf8')).join('\n')
  const raised = new Set(Array.from(sources.matchAll(/\berrors\.([A-Z_]+)\b/g), ([, code]) => code))
  for (const { code } of errorTable) t.ok(raised.has(code), code)
})

t.test('no text of the table has words that must be read twice', async (t) => {
  const wordings =
    /\bis none of\b|(?<!\b[Tt]here )\b(?:is|are) no (?!longer)|\bthat is not so\b|\bat the moment\b|\bbehind\b|\b(?:is|are) to be\b/
  const folder = join(repositoryRoot, 'src', 'shared', 'errors')
  for (const file of readdirSync(folder).filter((name) => name.endsWith('-errors.ts'))) {
    for (const line of readFileSync(join(folder, file), 'utf8').split('\n')) {
      if (/^\s*(?:\/\/|\*|\/\*)/.test(line)) continue
      t.notMatch(line, wordings, file)
    }
  }
})
