import type { ClickHouseServer } from '../../test/support/clickhouse-server.ts'
import type { SenderRequest } from './body-sender.types.ts'
import type { SendingProcess } from './sending-process.ts'
import type { ServiceProcess } from './service-process.ts'
import type { Spread } from './statistics.ts'
import type { WorkloadFormat, WorkloadName } from './workload.types.ts'

/** The processes that take part. Without `service`, ClickHouse is looked at alone. */
export interface Bench {
  readonly directory: string
  readonly sender: SendingProcess
  readonly service: ServiceProcess | null
  readonly clickHouse: ClickHouseServer
}

export interface CaseOptions {
  readonly rowCount: number
  /** Rounds that count; one more is made before them. */
  readonly roundCount: number
  readonly seed: number
}

/** One body, one format: what is measured together and compared with itself. */
export interface ImportCase {
  /** `events-ndjson`. */
  readonly name: `${WorkloadName}-${WorkloadFormat}`
  readonly workload: WorkloadName
  readonly format: WorkloadFormat
}

/** `arrow` is the same rows as Arrow to ClickHouse, the floor; `dirty` is our service with 1 % of bad rows. */
export type ContenderName = 'millrace' | 'clickhouse' | 'arrow' | 'dirty'

/** A receiver of one body: how its table is made and dropped, where the body goes, and what must be stored after. */
export interface Contender {
  readonly name: ContenderName
  readonly pid: number
  readonly bodyPath: string
  readonly byteCount: number
  readonly request: SenderRequest
  createTable(): Promise<void>
  dropTable(): Promise<void>
  /** @throws when the answer or the stored rows are not as they must be. */
  verify(answer: string): Promise<void>
}

/** What must be stored. */
export interface StoredRows {
  readonly rowCount: string
  /** Over all columns, as ClickHouse reads the same file; null when the count alone is known. */
  readonly checksum: string | null
}

export interface RunFigures {
  readonly elapsedMs: number
  /** Processor seconds of the receiving process, from before the request until its answer. */
  readonly cpuSeconds: number
}

/** The runs of one round, in the order they were made. */
export type Round = Readonly<Partial<Record<ContenderName, RunFigures>>>

export interface ContenderSummary {
  readonly byteCount: number
  readonly rowsPerSecond: Spread
  readonly megabytesPerSecond: Spread
  readonly cpuSecondsPerMillionRows: Spread
}

export interface ImportCaseResult {
  readonly name: string
  readonly rowCount: number
  /** Without the first, which only warms up. */
  readonly rounds: readonly Round[]
  readonly contenders: Readonly<Partial<Record<ContenderName, ContenderSummary>>>
  /** Rows per second of the service over those of ClickHouse in the same round. */
  readonly ratio: Spread | null
  /** Rows per second with 1 % of bad rows over those without any, in the same round. */
  readonly dirtyRatio: Spread | null
}
