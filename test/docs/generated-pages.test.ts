// Pages have tables that are made from the code. UPDATE_DOCS=1 writes them.

import t from 'tap'
import { jobRights } from '../../src/access/job-rights.ts'
import { type Operation, operations, ruleOf } from '../../src/access/operations.ts'
import { type ScopeType, scopeTypes } from '../../src/access/scopes/scope-types.ts'
import { optionsMarkdown } from '../../src/config-text.ts'
import { recordedFamilies } from '../../src/metrics/recorded-families.ts'
import { Recorder } from '../../src/metrics/recorder.ts'
import { stateFamilies } from '../../src/metrics/state-families.ts'
import { errorTable } from '../../src/shared/errors/errors.ts'
import { limitsMarkdown } from '../support/limits/limits-markdown.ts'
import { anyCounts, anyState } from '../support/metrics/any-state.ts'
import { pageSection } from '../support/page-section.ts'

t.test('docs/options.md has the table of options as the code has it (UPDATE_DOCS=1 writes it)', async (t) => {
  const made = optionsMarkdown()
  t.equal(pageSection('docs/options.md', 'options', made), made)
})

t.test('docs/errors.md has every error code, by status, and no other (UPDATE_DOCS=1 writes it)', async (t) => {
  const statuses = [...new Set(errorTable.map(({ status }) => status))]
  const made = statuses.map(tableOf).join('\n\n')
  t.equal(pageSection('docs/errors.md', 'errors', made), made)
})

t.test('docs/tokens.md has every type of scope (UPDATE_DOCS=1 writes it)', async (t) => {
  const made = scopesMarkdown()
  t.equal(pageSection('docs/tokens.md', 'scopes', made), made)
})

t.test('docs/tokens.md has what each operation needs (UPDATE_DOCS=1 writes it)', async (t) => {
  const made = operationsMarkdown()
  t.equal(pageSection('docs/tokens.md', 'operations', made), made)
})

t.test('docs/jobs.md has who may be told of which job (UPDATE_DOCS=1 writes it)', async (t) => {
  const made = jobRightsMarkdown()
  t.equal(pageSection('docs/jobs.md', 'job-rights', made), made)
})

t.test('docs/monitoring.md has every metric of our own (UPDATE_DOCS=1 writes it)', async (t) => {
  const made = metricsMarkdown()
  t.equal(pageSection('docs/monitoring.md', 'metrics', made), made)
})

function metricsMarkdown(): string {
  const families = [
    ...recordedFamilies(new Recorder(1), { dataSourceName: () => undefined, pipeName: () => undefined }),
    ...stateFamilies(anyState, anyCounts, { dataSourceName: () => undefined, labelsMax: 1 }),
  ]
  const rows = families.map(({ name, type, help }) => `| \`${name}\` | ${type} | ${help} |`)
  return ['| Metric | Type | What it is |', '|---|---|---|', ...rows].join('\n')
}

t.test('docs/limits.md has every limit, and what it is in each plan (UPDATE_DOCS=1 writes it)', async (t) => {
  const made = limitsMarkdown()
  t.equal(pageSection('docs/limits.md', 'limits', made), made)
})

function jobRightsMarkdown(): string {
  const rows = Object.entries(jobRights).flatMap(([kind, rights]) =>
    Object.entries(rights).map(([resource, { 'job:read': read, 'job:cancel': cancel }]) => {
      return `| \`${kind}\` on a ${resource} | ${namesOf(read)} | ${namesOf(cancel)} |`
    }),
  )
  return ['| Kind | Reading needs one of | Cancelling needs one of |', '|---|---|---|', ...rows].join('\n')
}

function namesOf(names: readonly Operation[]): string {
  return names.map((name) => `\`${name}\``).join(', ')
}

function scopesMarkdown(): string {
  // Object.entries gives plain strings; the table has these keys and no others.
  const rows = (Object.keys(scopeTypes) as ScopeType[]).map((type) => {
    const { kinds, mayFilter, spellings, meaning } = scopeTypes[type]
    const names = [type, ...spellings].map((one) => `\`${one}\``).join(', ')
    const takes = kinds.length === 0 ? '' : `a ${kinds.join(' or ')}${mayFilter ? ', a filter' : ''}`
    return `| ${names} | ${takes} | ${meaning} |`
  })
  return ['| Scope | May name | What it lets do |', '|---|---|---|', ...rows].join('\n')
}

function operationsMarkdown(): string {
  const rows = (Object.keys(operations) as Operation[]).map((operation) => {
    const { scopes, reach, mayBeFiltered, of } = ruleOf(operation)
    const types = scopes.map((type) => `\`${type}\``).join(', ') || 'only `ADMIN`'
    const filtered = scopes.some((type) => scopeTypes[type].mayFilter) && !mayBeFiltered ? ', without a filter' : ''
    const ofJobs = operation.startsWith('job:') ? 'and [who may do the same](jobs.md#access)' : ''
    const reached = of !== null && reach === 'some' ? 'of any resource' : ofJobs
    return `| \`${operation}\` | ${types}${filtered} | ${reached} |`
  })
  return ['| Operation | One of these | |', '|---|---|---|', ...rows].join('\n')
}

/** The codes of one status, below its heading. */
function tableOf(status: number): string {
  const rows = errorTable.filter((row) => row.status === status)
  const lines = rows.map(
    ({ code, when }) => `| <a id="${code.toLowerCase()}"></a>\`${code}\` | ${when}${stepsOf(code, status)} |`,
  )
  return [`## ${status}`, '', '| Code | When |', '|---|---|', ...lines].join('\n')
}

/** Each code of 500 and above has its section in docs/recovery.md, which another test holds. */
function stepsOf(code: string, status: number): string {
  return status < 500 ? '' : ` [What to do](recovery.md#${code.toLowerCase()}).`
}
