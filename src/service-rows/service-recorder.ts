import { cutText, type LogSecrets, redactedText } from '../observe/log-secrets.ts'
import type { RequestRecord, WorkRecorder } from '../observe/work-recorder.types.ts'
import { PipeTotals } from './pipe-totals.ts'
import type { RowWriter } from './row-writer.ts'

const urlCharsMax = 4_000
const valueCharsMax = 1_000
const nameCharsMax = 200
const agentCharsMax = 300
const errorCharsMax = 2_000
const parametersMax = 50

/** Names of parameters whose values are nobody's to read. */
const secretName = /token|secret|passw|api[_-]?key|authorization|bearer/i

/** Makes rows of what modules tell, without tokens and secrets, each field with a maximum. */
export class ServiceRecorder implements WorkRecorder {
  readonly isOn = true
  readonly #writer: Pick<RowWriter, 'add' | 'wake'>
  readonly #secrets: Pick<LogSecrets, 'cleanValue'>
  readonly #totals: PipeTotals

  constructor(writer: Pick<RowWriter, 'add' | 'wake'>, secrets: Pick<LogSecrets, 'cleanValue'>) {
    this.#writer = writer
    this.#secrets = secrets
    this.#totals = new PipeTotals((line) => writer.add('pipe_stats', line))
  }

  /** Gives the rows that are made of several records. */
  drain(): void {
    this.#totals.drain()
  }

  request(record: RequestRecord): void {
    const { error } = record
    const url = this.#clean(record.url, urlCharsMax)
    const parameters = this.#parameters(record.parameters)
    const start_datetime = Math.floor(record.startedAtMs / 1000)
    const pipe = { pipe_id: record.pipeId, pipe_name: record.pipeName }
    const row = {
      start_datetime,
      ...pipe,
      duration: record.durationMs / 1000,
      read_bytes: record.readBytes,
      read_rows: record.readRows,
      result_rows: record.resultRows,
      url,
      error: error === null ? 0 : 1,
      request_id: record.requestId,
      token: record.tokenId,
      token_name: record.tokenName,
      status_code: record.statusCode,
      method: record.method,
      parameters,
      user_agent: this.#clean(record.userAgent, agentCharsMax),
    }
    this.#writer.add('pipe_stats_rt', JSON.stringify(row))
    this.#totals.add(record)
    this.#writer.wake()
    if (error === null) return
    const failure = {
      start_datetime,
      request_id: record.requestId,
      ...pipe,
      params: parameters,
      url,
      status_code: record.statusCode,
      error: this.#clean(error, errorCharsMax),
    }
    this.#writer.add('endpoint_errors', JSON.stringify(failure))
  }

  #parameters(given: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
    const told: Record<string, string> = {}
    let count = 0
    for (const name in given) {
      if (name === 'token') continue
      count += 1
      if (count > parametersMax) break
      const value = given[name]
      const text = Array.isArray(value) ? value.join(',') : String(value)
      told[this.#clean(name, nameCharsMax)] = secretName.test(name) ? redactedText : this.#clean(text, valueCharsMax)
    }
    return told
  }

  #clean(text: string, charsMax: number): string {
    return cutText(this.#secrets.cleanValue(text), charsMax)
  }
}
