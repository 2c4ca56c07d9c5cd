// Two pages have tables that are made from the code. UPDATE_DOCS=1 writes them.

import t from 'tap'
import { optionsMarkdown } from '../../src/config-text.ts'
import { errorTable } from '../../src/shared/errors/errors.ts'
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
