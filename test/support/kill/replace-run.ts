/**
 * Replaces under constant reading, and replaces that a kill cuts off, both through a cascade of three views.
 *
 * A reader may see the generation that was complete when it asked, or one that was begun before it had its answer; one
 * query over all tables sees the same one in each. After a kill every table is of the same generation, the old or the new
 * one; of the new one if its sender had heard so.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from '../free-port.ts'
import { SeededRandom } from '../seeded-random.ts'
import { createTestDirectory } from '../store/test-store.ts'
import { KillService, type ServiceWords } from './kill-service.ts'
import {
  readStates,
  replaceBy,
  sendEvent,
  setUpReplaces,
  source,
  stagingTables,
  type TableState,
  tableCount,
} from './replace-service.ts'

export interface ReplaceOptions {
  readonly readers: number
  readonly replaces: number
  readonly kills: number
  readonly seed: number
}

export interface ReplaceReport {
  readonly reads: number
  /** How long the replaces took that nobody killed, on average. */
  readonly replaceMs: number
  /** Kills after which the content was the old one. */
  readonly undone: number
  /** Events that were acknowledged while a replace ran, and are in the content behind it. */
  readonly eventsKept: number
  /** What was seen that must not be. */
  readonly wrong: readonly string[]
  readonly stagingLeft: readonly string[]
  readonly words: ServiceWords
}

export async function runReplaces(options: ReplaceOptions): Promise<ReplaceReport> {
  const directory = await createTestDirectory()
  const service = new KillService(directory.path, await freePort())
  const run = new ReplaceRun(service, options)
  try {
    await setUpReplaces(service, directory.path)
    await run.underReading()
    for (let kill = 0; kill < options.kills; kill += 1) await run.killed()
    await service.end('SIGTERM')
    const stagingLeft = await stagingTables(directory.path)
    const { reads, replaceMs, undone, eventsKept, wrong } = run
    return { reads, replaceMs, undone, eventsKept, wrong, stagingLeft, words: service.words }
  } finally {
    run.isOver = true
    await service.end('SIGKILL')
    await directory.remove()
  }
}

class ReplaceRun {
  isOver = false
  reads = 0
  replaceMs = 0
  undone = 0
  eventsKept = 0
  readonly wrong: string[] = []
  readonly #service: KillService
  readonly #options: ReplaceOptions
  readonly #random: SeededRandom
  /** The last generation that is complete, and the last that was begun. */
  #completed = 0
  #begun = 0
  #events = 0

  constructor(service: KillService, options: ReplaceOptions) {
    this.#service = service
    this.#options = options
    this.#random = new SeededRandom(options.seed)
  }

  async underReading(): Promise<void> {
    const { readers, replaces } = this.#options
    let isReading = true
    const reading = Array.from({ length: readers }, async (_, number) => {
      const random = new SeededRandom(this.#options.seed + number)
      while (isReading && !this.isOver) await this.#read(random.below(2 * tableCount))
    })
    const startedAtMs = performance.now()
    try {
      for (let replace = 0; replace < replaces; replace += 1) {
        this.#begun += 1
        const status = await replaceBy(this.#service, this.#begun)
        if (status !== 200) this.wrong.push(`a replace was answered with ${status}`)
        this.#completed = this.#begun
      }
      this.replaceMs = Math.round((performance.now() - startedAtMs) / replaces)
    } finally {
      isReading = false
      await Promise.all(reading)
    }
  }

  /** One replace, with events beside it, and a kill before, in the middle of or after it. */
  async killed(): Promise<void> {
    this.#begun += 1
    let status: number | null = null
    const replacing = replaceBy(this.#service, this.#begun).then(
      (answered) => {
        status = answered
      },
      () => undefined,
    )
    let acknowledged = 0
    const sending = (async () => {
      while (await sendEvent(this.#service)) acknowledged += 1
    })()
    // Beside events a replace takes longer than it took alone.
    await delay(this.#random.below(Math.ceil(1.5 * this.replaceMs)))
    await this.#service.end('SIGKILL')
    await Promise.all([replacing, sending])
    await this.#service.start()
    // The first request of a new life may be sent down a connection to the one before.
    await this.#service.untilStored(source).catch(() => this.#service.untilStored(source))
    this.#judge(await readStates(this.#service), { wasAnswered: status === 200, acknowledged })
  }

  #judge(
    states: readonly TableState[],
    { wasAnswered, acknowledged }: { readonly wasAnswered: boolean; readonly acknowledged: number },
  ): void {
    const [first] = states
    const text = JSON.stringify(states)
    if (first === undefined || states.some((state) => JSON.stringify(state) !== JSON.stringify(first))) {
      this.wrong.push(`after a kill the tables differ: ${text}`)
      return
    }
    const isNew = first.generation === this.#begun
    if (!isNew && (wasAnswered || first.generation !== this.#completed)) this.wrong.push(`after a kill: ${text}`)
    const before = this.#events
    this.#events = first.events
    if (isNew) {
      this.#completed = this.#begun
      this.eventsKept += first.events
      // One may have been in the log without its answer.
      if (first.events > acknowledged + 1) this.wrong.push(`${first.events} events of ${acknowledged}`)
      return
    }
    this.undone += 1
    const kept = first.events - before
    if (kept < acknowledged || kept > acknowledged + 1) this.wrong.push(`${kept} events of ${acknowledged}, undone`)
    this.#begun = this.#completed
  }

  async #read(choice: number): Promise<void> {
    const oldest = this.#completed
    const states = await readStates(this.#service, choice < tableCount ? choice : undefined)
    const newest = this.#begun
    this.reads += 1
    const [first] = states
    if (first === undefined || states.some(({ generation }) => generation !== first.generation)) {
      this.wrong.push(`tables of one query differ: ${JSON.stringify(states)}`)
    } else if (first.generation < oldest || first.generation > newest) {
      this.wrong.push(`generation ${first.generation} was read between ${oldest} and ${newest}`)
    }
  }
}
