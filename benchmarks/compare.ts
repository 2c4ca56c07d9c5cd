import { readFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import type { ImportCaseResult } from './support/import-case.types.ts'
import { textTable } from './support/text-table.ts'

/**
 * Did the import get slower between two results of `import-throughput.ts`?
 *
 * What is compared is the ratio to the ClickHouse server that took the same bytes in the same run: a faster machine or a
 * busy neighbour moves both sides, so rows per second of two days cannot be compared. Exit code 1 when the median ratio of
 * a case fell below --at-least (0.9) of what it was, and when the two have no case in common.
 *
 * Usage: node dist/benchmarks/compare.js BEFORE.json AFTER.json [--at-least=0.9]
 */
interface ThroughputResult {
  readonly commit: string
  readonly cases: readonly ImportCaseResult[]
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { 'at-least': { type: 'string', default: '0.9' } },
})

await main()

async function main(): Promise<void> {
  const [beforePath, afterPath] = positionals
  if (beforePath === undefined || afterPath === undefined) {
    throw new Error('usage: compare BEFORE.json AFTER.json [--at-least=0.9]')
  }
  const [before, after] = await Promise.all([readResult(beforePath), readResult(afterPath)])
  const changes = ratioChanges(before, after)
  if (changes.length === 0) throw new Error('the two results have no case in common')
  const atLeast = Number(values['at-least'])
  const rows = changes.map(({ name, was, is }) => [name, was.toFixed(2), is.toFixed(2), (is / was).toFixed(2)])
  console.log(textTable(['body', `× ClickHouse at ${before.commit}`, `at ${after.commit}`, 'after / before'], rows))
  if (changes.some(({ was, is }) => is / was < atLeast)) {
    console.log(`slower: a ratio fell below ${atLeast} of what it was`)
    process.exitCode = 1
  }
}

async function readResult(path: string): Promise<ThroughputResult> {
  const result: unknown = JSON.parse(await readFile(path, 'utf8'))
  if (typeof result !== 'object' || result === null || !('cases' in result))
    throw new Error(`${path} is no result of import-throughput`)
  return result as ThroughputResult // Written by import-throughput.ts; nothing else has cases.
}

function ratioChanges(
  before: ThroughputResult,
  after: ThroughputResult,
): readonly { readonly name: string; readonly was: number; readonly is: number }[] {
  return before.cases.flatMap(({ name, ratio }) => {
    const counterpart = after.cases.find((candidate) => candidate.name === name)
    if (ratio === null || !counterpart?.ratio) return []
    return [{ name, was: ratio.median, is: counterpart.ratio.median }]
  })
}
