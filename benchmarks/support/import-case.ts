import { prepareContenders } from './contenders.ts'
import type {
  Bench,
  CaseOptions,
  Contender,
  ContenderName,
  ContenderSummary,
  ImportCase,
  ImportCaseResult,
  Round,
  RunFigures,
} from './import-case.types.ts'
import { cpuSeconds } from './process-usage.ts'
import type { SendingProcess } from './sending-process.ts'
import { spreadOf } from './statistics.ts'

/** Rounds that do not count: they compile, fill caches and grow heaps on both sides. Code for rare rows takes two. */
const warmUpRounds = 2

/** Measures one case: every contender once a round, in turn, each into a new table, and every run verified. */
export async function measureCase(
  bench: Bench,
  importCase: ImportCase,
  options: CaseOptions,
): Promise<ImportCaseResult> {
  const contenders = await prepareContenders(bench, importCase, options)
  const rounds: Round[] = []
  for (let round = -warmUpRounds; round < options.roundCount; round += 1) {
    const runs: Partial<Record<ContenderName, RunFigures>> = {}
    // Every other round the other way round: nobody stands always behind the same neighbour, whose work may linger.
    const inTurn = round % 2 === 0 ? contenders : contenders.toReversed()
    for (const contender of inTurn) runs[contender.name] = await measureRun(bench.sender, contender)
    if (round >= 0) rounds.push(runs)
  }
  return summarize({ name: importCase.name, rowCount: options.rowCount, rounds, contenders })
}

async function measureRun(sender: SendingProcess, contender: Contender): Promise<RunFigures> {
  await contender.createTable()
  const cpuBefore = await cpuSeconds(contender.pid)
  const answer = await sender.sendFile(contender.bodyPath, contender.request)
  const cpuAfter = await cpuSeconds(contender.pid)
  if (answer.status !== 200)
    throw new Error(`${contender.name} answered ${answer.status}: ${answer.text.slice(0, 2_000)}`)
  await contender.verify(answer.text)
  // Merges that are still going on end with the table, so the next receiver does not run beside them.
  await contender.dropTable()
  return { elapsedMs: answer.elapsedMs, cpuSeconds: cpuAfter - cpuBefore }
}

function summarize(options: {
  readonly name: string
  readonly rowCount: number
  readonly rounds: readonly Round[]
  readonly contenders: readonly Contender[]
}): ImportCaseResult {
  const { rounds, rowCount } = options
  const runsOf = (name: ContenderName) => rounds.flatMap((round) => round[name] ?? [])
  const speedups = (faster: ContenderName, base: ContenderName) =>
    rounds.flatMap((round) => {
      const [one, other] = [round[faster], round[base]]
      return one === undefined || other === undefined ? [] : [other.elapsedMs / one.elapsedMs]
    })
  const contenders: Partial<Record<ContenderName, ContenderSummary>> = {}
  for (const { name, byteCount } of options.contenders) {
    const runs = runsOf(name)
    contenders[name] = {
      byteCount,
      rowsPerSecond: spreadOf(runs.map((run) => (rowCount / run.elapsedMs) * 1_000)),
      megabytesPerSecond: spreadOf(runs.map((run) => byteCount / run.elapsedMs / 1_000)),
      cpuSecondsPerMillionRows: spreadOf(runs.map((run) => (run.cpuSeconds / rowCount) * 1e6)),
    }
  }
  const ratios = speedups('millrace', 'clickhouse')
  const dirtyRatios = speedups('dirty', 'millrace')
  return {
    name: options.name,
    rowCount,
    rounds,
    contenders,
    ratio: ratios.length > 0 ? spreadOf(ratios) : null,
    dirtyRatio: dirtyRatios.length > 0 ? spreadOf(dirtyRatios) : null,
  }
}
