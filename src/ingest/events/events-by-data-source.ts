import type { DataSource } from '../../catalog/data-source.types.ts'
import type { Sequence } from '../../wal/sequence.ts'
import type { DataSourceEvents } from './data-source-events.ts'
import type { EventsStatus, RecoveredSource } from './events.types.ts'

type CreateEvents = (dataSource: DataSource, recovered?: RecoveredSource) => DataSourceEvents

/** The events of all data sources that had any since the start, or had some in the log then. */
export class EventsByDataSource {
  readonly #create: CreateEvents
  readonly #byId = new Map<string, DataSourceEvents>()

  constructor(create: CreateEvents) {
    this.#create = create
  }

  /** Those of a data source; begun when there are none yet. */
  of(dataSource: DataSource): DataSourceEvents {
    const known = this.#byId.get(dataSource.id)
    if (known !== undefined) return known
    const events = this.#create(dataSource)
    this.#byId.set(dataSource.id, events)
    return events
  }

  /** Takes over what the log has of a data source. */
  recover(dataSource: DataSource, recovered: RecoveredSource): void {
    this.#byId.set(dataSource.id, this.#create(dataSource, recovered))
  }

  find(dataSourceId: string): DataSourceEvents | undefined {
    return this.#byId.get(dataSourceId)
  }

  remove(dataSourceId: string): void {
    this.#byId.delete(dataSourceId)
  }

  all(): Iterable<DataSourceEvents> {
    return this.#byId.values()
  }

  *statuses(): Iterable<EventsStatus> {
    for (const { status } of this.#byId.values()) yield status
  }

  waitingRows(): number {
    let total = 0
    for (const { waitingRows } of this.statuses()) total += waitingRows
    return total
  }

  /** The first entry of the log that is not stored; null when all are. */
  firstOutstanding(): Sequence | null {
    let least: Sequence | null = null
    for (const { firstOutstanding } of this.#byId.values()) {
      if (firstOutstanding !== null && (least === null || firstOutstanding < least)) least = firstOutstanding
    }
    return least
  }

  /** By data source, the first entry that is not stored, where it lies before `below`. */
  outstandingBefore(below: Sequence): ReadonlyMap<string, Sequence> {
    const firsts = new Map<string, Sequence>()
    for (const { stream, firstOutstanding } of this.#byId.values()) {
      if (firstOutstanding !== null && firstOutstanding < below) firsts.set(stream, firstOutstanding)
    }
    return firsts
  }
}
