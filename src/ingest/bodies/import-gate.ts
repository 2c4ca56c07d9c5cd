import type { DataSource } from '../../catalog/data-source.types.ts'
import { errors } from '../../shared/errors/errors.ts'
import type { HoldReason } from '../ingest.types.ts'

export interface ClosedTime {
  /** Told to those who are kept out. */
  readonly reason: HoldReason
  /** How long imports that run are waited for. */
  readonly timeMaxMs: number
}

/**
 * Knows which data sources imports append to, and keeps them out of those that are being replaced or changed: what they appended
 * would go with the old content, or would come into the new one in halves.
 */
export class ImportGate {
  readonly #running = new Map<string, Set<Promise<unknown>>>()
  /** What keeps imports out of each: several changes may. */
  readonly #closed = new Map<string, readonly HoldReason[]>()

  /**
   * Runs an import, which counts as running until `settle` resolves, too: its sender may be told before.
   * @throws DATASOURCE_BUSY (409) when imports are kept out of the data source; nothing is begun then.
   */
  async pass<Result>(
    { id, name }: DataSource,
    run: () => Promise<Result>,
    settle: () => Promise<void> = async () => undefined,
  ): Promise<Result> {
    const [reason] = this.#closed.get(id) ?? []
    if (reason !== undefined) throw errors.DATASOURCE_BUSY({ name, what: reason })
    const work = run()
    const others = this.#running.get(id) ?? new Set()
    this.#running.set(id, others)
    const settled = Promise.allSettled([work]).then(settle)
    others.add(settled)
    const forget = (): void => {
      others.delete(settled)
      if (others.size === 0 && this.#running.get(id) === others) this.#running.delete(id)
    }
    settled.then(forget, forget)
    return await work
  }

  /**
   * Runs `work` when no import of these data sources runs any more, and lets none begin until it has ended.
   * @throws DATASOURCE_BUSY (409) when they still run after `timeMaxMs`.
   */
  async whileClosed<Result>(
    dataSources: readonly DataSource[],
    { reason, timeMaxMs }: ClosedTime,
    work: () => Promise<Result>,
  ): Promise<Result> {
    for (const { id } of dataSources) this.#closed.set(id, [...(this.#closed.get(id) ?? []), reason])
    try {
      for (const dataSource of dataSources) await this.#untilIdle(dataSource, timeMaxMs)
      return await work()
    } finally {
      for (const { id } of dataSources) this.#reopen(id, reason)
    }
  }

  #reopen(id: string, reason: HoldReason): void {
    const reasons = this.#closed.get(id) ?? []
    const others = reasons.toSpliced(reasons.indexOf(reason), 1)
    if (others.length === 0) this.#closed.delete(id)
    else this.#closed.set(id, others)
  }

  async #untilIdle({ id, name }: DataSource, timeMaxMs: number): Promise<void> {
    const running = this.#running.get(id)
    if (running === undefined) return
    let timer: NodeJS.Timeout | undefined
    const isLate = new Promise<true>((resolve) => {
      timer = setTimeout(() => resolve(true), timeMaxMs)
    })
    const ended = Promise.allSettled(running).then(() => false as const)
    try {
      if (await Promise.race([ended, isLate])) throw errors.DATASOURCE_BUSY({ name, what: 'appended to' })
    } finally {
      clearTimeout(timer)
    }
  }
}
