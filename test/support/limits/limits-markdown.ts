import { flagName, optionKeys } from '../../../src/config.ts'
import { type LimitGroup, type LimitRow, limitTable } from '../../../src/limits/limit-table.ts'
import { formatBytes } from '../../../src/shared/bytes.ts'
import { optionsOf, testCoreCount } from './test-rates.ts'

const plans = ['unlimited', 'free', 'developer', 'saas', 'enterprise', 'enterprise-dedicated'] as const

const headings: Readonly<Record<LimitGroup, string>> = {
  rates: 'Rates and connections',
  costs: 'Costs',
  objects: 'Objects',
  ingestion: 'Ingestion',
  queries: 'Queries',
  jobs: 'Jobs',
  'no object yet': 'No object yet',
}

/** The table of limits with its values in each plan, a part for each group, for docs/limits.md. */
export function limitsMarkdown(): string {
  // Object.keys gives plain strings; the record has these keys and no others.
  const groups = (Object.keys(headings) as LimitGroup[]).filter((group) => group !== 'no object yet')
  const parts = groups.map((group) => {
    const rows = limitTable.filter((row) => row.group === group).map(rowOf)
    const head = [`| Limit | Bounds | For each | ${plans.map((plan) => `\`${plan}\``).join(' | ')} | Options |`]
    return [`### ${headings[group]}`, '', ...head, `|${'---|'.repeat(plans.length + 4)}`, ...rows].join('\n')
  })
  return [...parts, absentText()].join('\n\n')
}

function rowOf(row: LimitRow): string {
  const { name, what, scope, options } = row
  const values = plans.map((plan) => planValue(row, plan))
  return `| <a id="${name}"></a>\`${name}\` | ${what} | ${scope} | ${values.join(' | ')} | ${options.map(linkOf).join(', ')} |`
}

function planValue(row: LimitRow, plan: string): string {
  const [a, b] = (['a', 'b'] as const).map((variant) => shown(row, `--plan=${plan}`, `--plan-variant=${variant}`))
  return a === b ? `${a}` : `${a}, ${b} in variant b`
}

function shown({ name, max, unit, windowSeconds }: LimitRow, ...flags: readonly string[]): string {
  const value = max(optionsOf(...flags))
  if (value === null) return '–'
  if (name === 'query_threads' && value === testCoreCount) return 'cores'
  if (unit === 'bytes') return formatBytes(value)
  const amount = unit === 'ms' ? `${value / 1_000} s` : String(value)
  return windowSeconds === null ? amount : `${amount} ${windows[windowSeconds] ?? ''}`
}

const windows: Readonly<Record<number, string>> = { 1: 'a second', 60: 'a minute', 86400: 'a day' }

function linkOf(option: string): string {
  const key = optionKeys.find((one) => one === option)
  if (key === undefined) throw new Error(`${option} is no option`)
  return `[\`${key}\`](options.md#${flagName(key)})`
}

function absentText(): string {
  const rows = limitTable.filter(({ group }) => group === 'no object yet')
  const lines = rows.map(({ name, what }) => `| \`${name}\` | ${what} |`)
  return [`### ${headings['no object yet']}`, '', '| Limit | Would bound |', '|---|---|', ...lines].join('\n')
}
