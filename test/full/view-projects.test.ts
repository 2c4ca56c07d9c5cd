// Views as real projects have them: made over rows that are there, populated, and fed by events and an import. What each holds must be
// what its query gives over all rows of its source.

import t, { type Test } from 'tap'
import { endedJob } from '../support/api/job-calls.ts'
import { type ProjectSource, projectDimensions, projectSources } from '../support/api/project-sources.ts'
import { type ProjectView, projectViews } from '../support/api/project-views.ts'
import { openTestService, type TestService } from '../support/api/test-service.ts'
import { ViewCalls } from '../support/api/view-calls.ts'

const blockRows = 80
/** Before the views are made, then by events, then by an import. */
const blocks = { before: [0, 1, 2], events: [3, 4], imported: [5] }

const pipeOf = (view: ProjectView): string => `make_${view.name}`
const nodePath = (view: ProjectView): string => `/v0/pipes/${pipeOf(view)}/nodes/${pipeOf(view)}_view`

t.test('views of projects hold what their queries give', { timeout: 600_000 }, async (t) => {
  const service = await openTestService(t)
  for (const { name, schema, engine, rows } of projectDimensions) {
    await create(t, service, { name, schema, engine })
    await append(service, name, rows)
  }
  for (const source of projectSources) {
    await create(t, service, source)
    for (const block of blocks.before) await append(service, source.name, blockOf(source, block))
  }
  for (const view of projectViews) await make(t, service, view)
  for (const view of projectViews.filter(({ isPopulatedLate }) => isPopulatedLate)) await populate(t, service, view)
  await t.test('after their populate', (t) => areEqual(t, service))
  const calls = new ViewCalls(service)
  for (const source of projectSources) {
    for (const block of blocks.events) await calls.send(source.name, blockOf(source, block))
    for (const block of blocks.imported) await append(service, source.name, blockOf(source, block))
  }
  await t.test('after events and an import', (t) => areEqual(t, service))
  await t.test('and are told to be equal where they can be compared', (t) => areVerified(t, service))
  await t.test('after a populate in the place of what they have', async (t) => {
    // One that others read, or fill too, is refused.
    const alone = projectViews.filter(({ isPopulated, isPopulatedLate }) => isPopulated !== false && !isPopulatedLate)
    for (const view of alone.filter((_, index) => index % 4 === 0)) await populate(t, service, view, '?truncate=true')
    await areEqual(t, service)
  })
})

async function areEqual(t: Test, service: TestService): Promise<void> {
  for (const { name, found, expected } of projectViews) {
    const [there, asked] = [await sortedRows(service, found), await sortedRows(service, expected)]
    t.ok(asked.length > 0, `${name}: ${asked.length} rows`)
    t.strictSame(there, asked, name)
  }
}

async function areVerified(t: Test, service: TestService): Promise<void> {
  const compared: string[] = []
  for (const view of projectViews) {
    const { status, text, json } = await service.call('GET', `${nodePath(view)}/verify`)
    t.equal(status, 200, `${view.name}: ${text}`)
    // As above.
    const { comparable, equal, reason } = json as Verified
    if (comparable) compared.push(view.name)
    t.equal(equal, comparable ? true : null, `${view.name}: ${comparable ? text : reason}`)
  }
  t.comment(`${compared.length} of ${projectViews.length} are comparable: ${compared.join(', ')}`)
  t.ok(compared.length > 0)
}

interface Verified {
  readonly comparable: boolean
  readonly equal: boolean | null
  readonly reason: string | null
}

async function sortedRows(service: TestService, sql: string): Promise<readonly string[]> {
  return (await service.rows(sql)).map((row) => row.join('\t')).sort()
}

async function create(
  t: Test,
  service: TestService,
  { name, schema, engine }: Pick<ProjectSource, 'engine' | 'name' | 'schema'>,
): Promise<void> {
  const { status, text } = await service.create(name, schema.replaceAll('\n', ' '), engine)
  t.equal(status, 200, `${name}: ${text}`)
}

async function make(t: Test, service: TestService, view: ProjectView): Promise<void> {
  const { name, schema, before = {}, sql, engine = {}, isPopulated = true, isPopulatedLate = false } = view
  if (schema !== undefined) await create(t, service, { name, schema, engine: {} })
  const nodes = Object.entries({ [`${name}_first`]: 'SELECT 1 AS one', ...before }).map(([node, text]) => {
    return { name: node, sql: text }
  })
  await service.call('POST', '/v0/pipes', { body: JSON.stringify({ name: pipeOf(view), nodes }) })
  const isAtOnce = isPopulated && !isPopulatedLate
  const target = { datasource: name, ...engine, ...(isAtOnce ? { populate: 'true' } : {}) }
  const answer = await new ViewCalls(service).tryFill(pipeOf(view), sql, target)
  t.equal(answer.status, 200, `${name}: ${answer.text}`)
  if (!isAtOnce || answer.status !== 200) return
  // The shapes of answers are what other tests check.
  const { job } = answer.json as { readonly job: { readonly id: string } }
  t.match(await endedJob(service, job.id), { status: 'done' }, `${name} is populated`)
}

async function populate(t: Test, service: TestService, view: ProjectView, more = ''): Promise<void> {
  const answer = await service.call('POST', `${nodePath(view)}/population${more}`)
  t.equal(answer.status, 200, `${view.name}: ${answer.text}`)
  // As above.
  const { job } = answer.json as { readonly job: { readonly id: string } }
  t.match(await endedJob(service, job.id), { status: 'done' }, `${view.name} is populated`)
}

function blockOf({ row }: ProjectSource, block: number): readonly object[] {
  return Array.from({ length: blockRows }, (_, index) => row(block * blockRows + index))
}

async function append(service: TestService, name: string, rows: readonly object[]): Promise<void> {
  const { status, text, json } = await service.append(name, 'ndjson', rows.map((row) => JSON.stringify(row)).join('\n'))
  // As above.
  const { quarantine_rows: setAside } = json as { readonly quarantine_rows?: number }
  if (status !== 200 || setAside !== 0) throw new Error(`${name} answered ${status}: ${text}`)
}
