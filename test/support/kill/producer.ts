import { setTimeout as delay } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import type { SeededRandom } from '../seeded-random.ts'
import { killToken } from './kill-service.ts'

export interface ProducerOptions {
  readonly number: number
  readonly address: string
  readonly dataSource: string
  readonly random: SeededRandom
  /** True once no new request is to be begun. */
  readonly isOver: () => boolean
  /** True once nothing will be acknowledged any more: what is under way is given up. */
  readonly isGivenUp?: () => boolean
}

/** What a producer's requests were acknowledged for. */
export interface Acknowledged {
  rows: number
  quarantined: number
  requests: number
  /** Tries that got no acknowledgement: killed, refused, cut off. */
  failedTries: number
}

const pad = 'x'.repeat(700)
/** A few such rows fill a frame, so that a block comes in several parts, and is cut otherwise when it is parsed anew out of the log. */
const widePad = 'w'.repeat(40_000)
const retryPauseMs = 50
const answerTimeoutMs = 30_000

/**
 * Sends one request after the other, each again under its key until it is acknowledged. The ids of a producer are
 * `number * 10^9 + 0, 1, 2, …` without gaps, so that what is stored says by itself what is lost or doubled.
 */
export async function produce(options: ProducerOptions): Promise<Acknowledged> {
  const { number, address, dataSource, random, isOver, isGivenUp = () => false } = options
  const acknowledged = { rows: 0, quarantined: 0, requests: 0, failedTries: 0 }
  let id = number * 1e9
  while (!isOver()) {
    const isWide = random.below(8) === 0
    const count = 1 + random.below(isWide ? 40 : random.below(4) === 0 ? 200 : 8)
    const records = Array.from({ length: count }, () => {
      const isBad = random.below(20) === 0
      const text = isWide ? widePad : pad.slice(random.below(700))
      const record = { id, producer: number, n: isBad ? 'bad' : random.below(1000), pad: text }
      id += 1
      return record
    })
    const bad = records.filter(({ n }) => n === 'bad').length
    const key = `${number}-${acknowledged.requests}`
    const request = requestOf(records, { random, dataSource, address, key })
    while (!(await isAcknowledged(request, { good: count - bad, bad }))) {
      acknowledged.failedTries += 1
      if (isGivenUp()) return acknowledged
      await delay(retryPauseMs)
    }
    acknowledged.requests += 1
    acknowledged.rows += count - bad
    acknowledged.quarantined += bad
  }
  return acknowledged
}

interface Request {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Buffer
}

interface RequestContext {
  readonly random: SeededRandom
  readonly address: string
  readonly dataSource: string
  readonly key: string
}

function requestOf(records: readonly object[], { random, address, dataSource, key }: RequestContext): Request {
  const isArray = random.below(4) === 0
  const isPacked = random.below(4) === 0
  const text = isArray ? JSON.stringify(records) : records.map((record) => JSON.stringify(record)).join('\n')
  const parameters = new URLSearchParams({ name: dataSource })
  if (isArray) parameters.set('format', 'json')
  if (random.below(3) === 0) parameters.set('wait', 'true')
  return {
    url: `${address}/v0/events?${parameters}`,
    headers: {
      authorization: `Bearer ${killToken}`,
      'idempotency-key': key,
      ...(isPacked ? { 'content-encoding': 'gzip' } : {}),
    },
    body: isPacked ? gzipSync(text) : text,
  }
}

async function isAcknowledged(
  request: Request,
  expected: { readonly good: number; readonly bad: number },
): Promise<boolean> {
  try {
    const { url, headers, body } = request
    const signal = AbortSignal.timeout(answerTimeoutMs)
    const response = await fetch(url, { method: 'POST', headers, body, signal })
    const text = await response.text()
    if (response.status !== 200 && response.status !== 202) return false
    if (text === `{"successful_rows":${expected.good},"quarantined_rows":${expected.bad}}`) return true
    throw new WrongCountsError(`expected ${JSON.stringify(expected)}, was told ${text}`)
  } catch (error) {
    if (error instanceof WrongCountsError) throw error
    // Killed in the middle, or not up yet: it is sent again.
    return false
  }
}

class WrongCountsError extends Error {}
