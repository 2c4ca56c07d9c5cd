// How many connections there may be, of one address and of all together. A connection costs a descriptor and a parser before
// it has said a word, so it is judged before anything reads it.
//
// One above the limit is not refused as long as another of its address (or of all) waits for a request: that one is closed
// for it, the longest unused first as far as a few looks find it. So whoever holds thousands open and says nothing keeps
// nobody out, and connections that a client has forgotten cost no new one. Whoever is busy is never cut for another.

import type { Socket } from 'node:net'
import type { LimitHits } from '../../limits/limit-hits.ts'
import type { Logger } from '../../observe/logger.ts'
import { type ApiError, errors } from '../../shared/errors/errors.ts'
import { addressKey, plainAddress } from './address-list.ts'
import type { Proxies } from './proxies.ts'
import type { RawAnswers } from './raw-answer.ts'

export interface ConnectionLimitOptions {
  readonly connectionsMax: number
  /** 0 for none. */
  readonly connectionsPerAddressMax: number
}

export interface ConnectionLimitDeps {
  readonly proxies: Pick<Proxies, 'isTrusted'>
  readonly answers: RawAnswers
  readonly logger: Pick<Logger, 'warn'>
  readonly limitHits: Pick<LimitHits, 'tell'>
  /** Epoch milliseconds. */
  readonly now: () => number
  /** A clock in milliseconds that never goes back. */
  readonly clock: () => number
}

/** A connection that is counted. */
export interface CountedConnection {
  /** Whether a request of it is under way. */
  isBusy: () => boolean
  /** Ends it while it waits for a request. */
  end: () => void
}

/** Answers a connection that is refused with this text, and closes it. */
export type TellRefused = (socket: Socket, text: string) => void

interface Counted extends CountedConnection {
  readonly socket: Socket
  readonly address: Address
  /** Bytes that it had brought at the last look. */
  seenBytes: number
  isOpen: boolean
}

interface Address {
  readonly key: string
  readonly open: Set<Counted>
}

/** Connections that are looked at for one that can be closed. */
const looksMax = 64
/** Refused connections that are told why at once; those beyond it are cut. */
const toldMax = 128
/** Time in which a refused client can read its answer, with a handshake of TLS before it. */
const toldMsMax = 2_000
const retryAfterSeconds = 1
const logPauseMs = 1_000

export class ConnectionLimits {
  readonly #options: ConnectionLimitOptions
  readonly #deps: ConnectionLimitDeps
  readonly #open = new Set<Counted>()
  /** Those with connections, so at most as many as these. */
  readonly #addresses = new Map<string, Address>()
  #toldCount = 0
  #refusedCount = 0
  #loggedAtMs = Number.NEGATIVE_INFINITY

  constructor(options: ConnectionLimitOptions, deps: ConnectionLimitDeps) {
    this.#options = options
    this.#deps = deps
  }

  /**
   * Counts a connection that has just come, as one without a request; null when it is refused: it is told so and closed then. One that
   * is gone already is closed alone.
   */
  admit(socket: Socket, tell: TellRefused): CountedConnection | null {
    // Its client has reset it before it was accepted. What it has sent would be read all the same, by the thousand where one floods us.
    if (socket.remoteAddress === undefined) {
      socket.destroy()
      return null
    }
    const refusal = this.#refusalOf(socket)
    if (refusal !== null) {
      this.#refuse(socket, refusal, tell)
      return null
    }
    const address = this.#addressOf(addressKey(socket.remoteAddress ?? ''))
    const counted: Counted = {
      socket,
      address,
      seenBytes: 0,
      isOpen: true,
      isBusy: () => false,
      end: () => socket.destroy(),
    }
    this.#open.add(counted)
    address.open.add(counted)
    socket.once('close', () => this.#forget(counted))
    return counted
  }

  #refusalOf({ remoteAddress = '' }: Socket): ApiError | null {
    const { connectionsMax, connectionsPerAddressMax } = this.#options
    const open = this.#addresses.get(addressKey(remoteAddress))?.open
    const hasLimit = connectionsPerAddressMax > 0 && !this.#deps.proxies.isTrusted(remoteAddress)
    if (hasLimit && open !== undefined && open.size >= connectionsPerAddressMax && !this.#makeRoom(open)) {
      return errors.CONNECTIONS_TOO_MANY({ connectionsPerAddressMax, retryAfterSeconds })
    }
    if (this.#open.size < connectionsMax || this.#makeRoom(this.#open)) return null
    return errors.CONNECTIONS_EXHAUSTED({ retryAfterSeconds })
  }

  #addressOf(key: string): Address {
    const known = this.#addresses.get(key)
    if (known !== undefined) return known
    const address: Address = { key, open: new Set() }
    this.#addresses.set(key, address)
    return address
  }

  /** Ends one that waits for a request; false when none is found. Those that were used since the last look have a second chance. */
  #makeRoom(open: Set<Counted>): boolean {
    let fallback: Counted | undefined
    let looksLeft = Math.min(looksMax, open.size)
    for (const counted of open) {
      if (looksLeft === 0) break
      looksLeft -= 1
      open.delete(counted)
      open.add(counted)
      if (counted.isBusy()) continue
      const wasUsed = counted.socket.bytesRead !== counted.seenBytes
      counted.seenBytes = counted.socket.bytesRead
      if (!wasUsed) {
        this.#end(counted)
        return true
      }
      fallback ??= counted
    }
    if (fallback === undefined) return false
    this.#end(fallback)
    return true
  }

  /** What is closed counts no longer, so that the limit holds for who comes next. */
  #end(counted: Counted): void {
    this.#forget(counted)
    counted.end()
  }

  #forget(counted: Counted): void {
    if (!counted.isOpen) return
    counted.isOpen = false
    const { address } = counted
    this.#open.delete(counted)
    address.open.delete(counted)
    if (address.open.size === 0) this.#addresses.delete(address.key)
  }

  #refuse(socket: Socket, error: ApiError, tell: TellRefused): void {
    this.#log(socket, error)
    const requestId = this.#deps.answers.requestId()
    this.#tell(error, requestId)
    if (this.#toldCount >= toldMax) {
      socket.destroy()
      return
    }
    this.#toldCount += 1
    const timer = setTimeout(() => socket.destroy(), toldMsMax).unref()
    socket.once('close', () => {
      clearTimeout(timer)
      this.#toldCount -= 1
    })
    tell(socket, this.#deps.answers.textOf(error, requestId))
  }

  #tell({ limit, code, status }: ApiError, requestId: string): void {
    const atMs = this.#deps.now()
    const nobody = { tokenId: null, tokenName: null, resource: null }
    if (limit !== undefined) this.#deps.limitHits.tell({ limit, code, status, atMs, requestId, ...nobody })
  }

  /** One entry a second at most: whoever opens thousands would else fill the log. */
  #log({ remoteAddress = '' }: Socket, { code }: ApiError): void {
    this.#refusedCount += 1
    const nowMs = this.#deps.clock()
    if (nowMs - this.#loggedAtMs < logPauseMs) return
    this.#loggedAtMs = nowMs
    const fields = { code, clientAddress: plainAddress(remoteAddress), refusedCount: this.#refusedCount }
    this.#deps.logger.warn(fields, 'Connections are refused: too many are open.')
    this.#refusedCount = 0
  }
}
