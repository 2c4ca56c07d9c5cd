import type { ContenderName, ContenderSummary, ImportCaseResult } from './import-case.types.ts'
import type { Spread } from './statistics.ts'
import { textTable } from './text-table.ts'

const contenderTitles: Readonly<Record<ContenderName, string>> = {
  millrace: 'Millrace',
  dirty: 'Millrace, 1 % bad rows',
  clickhouse: 'ClickHouse HTTP',
  arrow: 'ClickHouse HTTP, Arrow (floor)',
}
const order: readonly ContenderName[] = ['millrace', 'dirty', 'clickhouse', 'arrow']

const header = ['body', 'receiver', 'thousand rows/s', 'MB/s', 'CPU s per million rows', 'ratio min', 'median', 'max']

/** One line for each body and receiver: medians, and the spread of the ratio of each round. */
export function throughputTable(results: readonly ImportCaseResult[]): string {
  const rows = results.flatMap((result) =>
    order.flatMap((name) => {
      const contender = result.contenders[name]
      return contender === undefined ? [] : [row(result, name, contender)]
    }),
  )
  return `${textTable(header, rows)}

Ratios are pairs of one round: Millrace by ClickHouse's rows per second; with bad rows by its own without.`
}

function row(result: ImportCaseResult, name: ContenderName, contender: ContenderSummary): readonly string[] {
  const ratio = name === 'millrace' ? result.ratio : name === 'dirty' ? result.dirtyRatio : null
  return [
    result.name,
    contenderTitles[name],
    Math.round(contender.rowsPerSecond.median / 1_000).toString(),
    Math.round(contender.megabytesPerSecond.median).toString(),
    contender.cpuSecondsPerMillionRows.median.toFixed(2),
    ...ratioCells(ratio),
  ]
}

function ratioCells(ratio: Spread | null): readonly string[] {
  if (ratio === null) return ['', '', '']
  return [ratio.min, ratio.median, ratio.max].map((value) => value.toFixed(2))
}
