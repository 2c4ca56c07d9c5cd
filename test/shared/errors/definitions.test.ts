import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { definitionGroups, definitions } from '../../../src/shared/errors/definitions.ts'
import { errorTable } from '../../../src/shared/errors/errors.ts'
import { limitNames } from '../../../src/shared/limit-names.ts'
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

/** Codes of this class that no limit gives: docs/limits.md says why. */
const withoutLimit = [
  ...['REQUEST_TIMEOUT', 'BODY_STALLED', 'BODY_TOO_SLOW', 'RECEIPT_NOT_REACHED'],
  ...[
    'IMPORT_STOPPED',
    'VIEW_BLOCKS',
    'DATASOURCE_CHANGING',
    'CHANGE_BLOCKED',
    'CHANGE_OUTRUN',
    'REPLAY_INTERRUPTED',
    'SECRET_UNREADABLE',
  ],
  ...['JOB_INTERRUPTED', 'JOB_KIND_UNKNOWN', 'DISK_UNAVAILABLE', 'ENGINE_RESTARTED', 'ENGINE_UNAVAILABLE'],
  ...['SHUTTING_DOWN', 'LOG_FULL'],
]

t.test('each refusal for want of room, time or turns names its limit, or the pages say why none', async (t) => {
  const page = readFileSync(join(repositoryRoot, 'docs', 'limits.md'), 'utf8')
  const ofClass = Object.entries(definitions).filter(
    ([code, { status }]) => [408, 413, 429, 503, 507].includes(status) || /_TOO_COSTLY$/.test(code),
  )
  const unnamed = ofClass.filter(([, definition]) => !('limit' in definition)).map(([code]) => code)
  t.same(unnamed.toSorted(), withoutLimit.toSorted())
  for (const code of unnamed) t.ok(page.includes(`errors.md#${code.toLowerCase()}`), code)
  for (const name of limitNames) t.ok(page.includes(`\`${name}\``), name)
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
