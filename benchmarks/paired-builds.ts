import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { benchEnvironment, describeEnvironment, writeResult } from './support/bench-environment.ts'
import { type Build, openBuild, openSenders, type PairedCase, pairedCases } from './support/paired-cases.ts'
import { medianInterval } from './support/statistics.ts'
import { textTable } from './support/text-table.ts'

/**
 * Is this build slower than another one?
 *
 * The services of two built checkouts run beside each other on one machine, each with its own data and the options that
 * users have by default. In each round each case is measured on one and then on the other, every second round the other way
 * round, and the ratio is taken pair by pair: a machine that slows down for a while slows down both. Two rounds warm up and
 * do not count. A case is slower only when the whole interval of the median of its ratios lies below 0.97.
 *
 * Usage: node dist/benchmarks/paired-builds.js --before FOLDER [--rounds 9] [--only import,single] [--out FILE]
 */
const { values } = parseArgs({
  options: {
    before: { type: 'string' },
    rounds: { type: 'string', default: '9' },
    only: { type: 'string', default: '' },
    out: { type: 'string', default: 'benchmarks/results/paired-builds.json' },
  },
})

interface PairedResult {
  readonly name: string
  readonly unit: string
  readonly before: readonly number[]
  readonly after: readonly number[]
  /** After by before, of each round; greater is better. */
  readonly ratios: readonly number[]
}

const warmUpRounds = 2
const slowerBelow = 0.97

await main()

async function main(): Promise<void> {
  if (values.before === undefined) throw new Error('--before is the folder of the other checkout, which must be built')
  const environment = benchEnvironment()
  const directory = await mkdtemp(join(tmpdir(), 'millrace-bench-'))
  const results: PairedResult[] = []
  const builds: Build[] = []
  const senders = openSenders(directory)
  try {
    const before = await openBuild({ directory: join(directory, 'before'), root: resolve(values.before) })
    builds.push(before)
    const after = await openBuild({ directory: join(directory, 'after') })
    builds.push(after)
    const wanted = values.only.split(',')
    for (const one of pairedCases(senders)) {
      if (wanted.some((part) => one.name.includes(part))) results.push(await measurePairs(one, before, after))
    }
  } finally {
    await Promise.all([senders.close(), ...builds.map((build) => build.close())])
    await rm(directory, { recursive: true, force: true })
  }
  console.log(`\n${describeEnvironment(environment)}\n\n${resultTable(results)}\n`)
  console.log(`written to ${writeResult(values.out, { question: 'paired-builds', ...environment, results })}`)
}

async function measurePairs(one: PairedCase, before: Build, after: Build): Promise<PairedResult> {
  const rates = { before: [] as number[], after: [] as number[] }
  for (let round = -warmUpRounds; round < Number(values.rounds); round += 1) {
    const isBeforeFirst = round % 2 === 0
    const first = await one.measure(isBeforeFirst ? before : after)
    const second = await one.measure(isBeforeFirst ? after : before)
    if (round < 0) continue
    rates.before.push(isBeforeFirst ? first : second)
    rates.after.push(isBeforeFirst ? second : first)
  }
  const ratios = rates.after.map((rate, round) => rate / (rates.before[round] ?? Number.NaN))
  console.log(`${one.name}: ${ratios.map((ratio) => ratio.toFixed(2)).join(' ')}`)
  return { name: one.name, unit: one.unit, ...rates, ratios }
}

function resultTable(results: readonly PairedResult[]): string {
  const rows = results.map(({ name, unit, before, after, ratios }) => {
    const { low, median, high } = medianInterval(ratios)
    return [
      name,
      unit,
      Math.round(medianInterval(before).median).toString(),
      Math.round(medianInterval(after).median).toString(),
      median.toFixed(3),
      `${low.toFixed(3)} – ${high.toFixed(3)}`,
      high < slowerBelow ? 'slower' : low > 1 ? 'faster' : 'the same',
    ]
  })
  return textTable(['case', 'unit', 'before', 'after', 'after / before', '95 % interval of the median', ''], rows)
}
