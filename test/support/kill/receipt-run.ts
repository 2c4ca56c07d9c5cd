/**
 * Writes events one by one, and reads each at once with its receipt over another connection, out of the table and out of what a view makes of it,
 * while others send batches and processes are killed.
 *
 * A read that is answered has the event. One that is not is sent again with the same receipt, also to the next process.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from '../free-port.ts'
import { SeededRandom } from '../seeded-random.ts'
import { createTestDirectory } from '../store/test-store.ts'
import { KillService, killToken, type ServiceWords, victims } from './kill-service.ts'

export interface ReceiptRunOptions {
  readonly writes: number
  readonly kills: number
  readonly seed: number
}

export interface ReceiptRunReport {
  readonly reads: number
  readonly kills: number
  /** Reads with a receipt of a process that had ended. */
  readonly overKills: number
  /** Answers 408 and 503, and connections that were cut, behind which the read was repeated. */
  readonly repeats: number
  readonly loadRows: number
  readonly words: ServiceWords
  /** Reads that were answered without the event; empty when none was. */
  readonly misses: readonly string[]
}

const writersMax = 8
const loadRowsPerBody = 200

export async function runReceipts({ writes, kills, seed }: ReceiptRunOptions): Promise<ReceiptRunReport> {
  const directory = await createTestDirectory()
  const service = new KillService(directory.path, await freePort())
  const run = new ReceiptRun(service, writes)
  const random = new SeededRandom(seed)
  try {
    await service.start()
    await run.setUp()
    const loading = run.load()
    const writing = Promise.all(Array.from({ length: writersMax }, () => run.write()))
    for (let kill = 1; kill <= kills; kill += 1) {
      await run.untilWritten(Math.floor((writes * (kill - random.fraction() * 0.9)) / kills))
      await service.kill(victims[kill % victims.length] ?? 'service')
      run.kills += 1
    }
    await writing
    run.end()
    await loading
    await service.end('SIGTERM')
    const { reads, overKills, repeats, loadRows, misses } = run
    return { reads, kills: run.kills, overKills, repeats, loadRows, misses, words: service.words }
  } finally {
    run.end()
    await service.end('SIGKILL')
    await directory.remove()
  }
}

interface Answered {
  readonly status: number
  readonly text: string
  readonly receipt: string
}

class ReceiptRun {
  reads = 0
  kills = 0
  overKills = 0
  repeats = 0
  loadRows = 0
  readonly misses: string[] = []
  readonly #service: KillService
  readonly #writes: number
  readonly #waiting = new Set<() => void>()
  #begun = 0
  #isOver = false

  constructor(service: KillService, writes: number) {
    this.#service = service
    this.#writes = writes
  }

  async setUp(): Promise<void> {
    const schema = encodeURIComponent('id UInt32 `json:$.id`')
    for (const name of ['stream', 'load']) {
      await this.#service.call('POST', `/v0/datasources?name=${name}&format=ndjson&schema=${schema}`)
    }
    const node = {
      name: 'n',
      type: 'materialized',
      datasource: 'copies',
      engine: 'MergeTree',
      engine_sorting_key: 'id',
    }
    const nodes = [{ ...node, sql: 'SELECT id FROM stream' }]
    await this.#service.call('POST', '/v0/pipes', JSON.stringify({ name: 'copy', nodes }))
  }

  end(): void {
    this.#isOver = true
  }

  /** Resolves when so many events have been read. */
  async untilWritten(count: number): Promise<void> {
    while (this.reads < count) await new Promise<void>((resolve) => this.#waiting.add(resolve))
  }

  /** Batches beside the others, to the same data source and to another one. */
  async load(): Promise<void> {
    const body = '{"id":0}\n'.repeat(loadRowsPerBody)
    for (let turn = 0; !this.#isOver; turn += 1) {
      const { status } = await this.#ask('POST', `/v0/events?name=${turn % 2 === 0 ? 'stream' : 'load'}`, { body })
      if (status === 202) this.loadRows += loadRowsPerBody
      await delay(20)
    }
  }

  async write(): Promise<void> {
    while (this.#begun < this.#writes) {
      this.#begun += 1
      const id = this.#begun
      const receipt = await this.#send(id)
      await this.#read(id, receipt)
      this.reads += 1
      for (const resolve of this.#waiting) resolve()
      this.#waiting.clear()
    }
  }

  /** Until it is acknowledged; gives the receipt. */
  async #send(id: number): Promise<string> {
    const headers = { 'idempotency-key': `id ${id}` }
    for (;;) {
      const { status, receipt } = await this.#ask('POST', '/v0/events?name=stream', { body: `{"id":${id}}`, headers })
      if (status === 202) return receipt
      await delay(20)
    }
  }

  async #read(id: number, receipt: string): Promise<void> {
    const { kills } = this
    const of = (table: string): string => `(SELECT count() FROM ${table} WHERE id = ${id})`
    const query = new URLSearchParams({ q: `SELECT ${of('stream')}, ${of('copies')} FORMAT TSV` })
    if (id % 2 === 0) query.set('wait_until', receipt)
    const headers = { connection: 'close', ...(id % 2 === 0 ? {} : { 'x-millrace-receipt': receipt }) }
    for (;;) {
      const { status, text } = await this.#ask('GET', `/v0/sql?${query}`, { headers })
      if (status === 200) {
        if (this.kills > kills) this.overKills += 1
        if (text !== '1\t1\n') this.misses.push(`event ${id} was answered ${JSON.stringify(text)}`)
        return
      }
      if (![0, 408, 503].includes(status)) this.misses.push(`event ${id} was answered ${status}: ${text}`)
      if (![0, 408, 503].includes(status)) return
      this.repeats += 1
      await delay(20)
    }
  }

  /** The status is 0 where the connection was cut, or there is nobody. */
  async #ask(method: string, path: string, { body, headers = {} }: Asked = {}): Promise<Answered> {
    try {
      const response = await fetch(`${this.#service.address}${path}`, {
        method,
        headers: { authorization: `Bearer ${killToken}`, ...headers },
        ...(body === undefined ? {} : { body }),
      })
      const text = await response.text()
      return { status: response.status, text, receipt: response.headers.get('x-millrace-receipt') ?? '' }
    } catch (error) {
      return { status: 0, text: String(error), receipt: '' }
    }
  }
}

interface Asked {
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
}
