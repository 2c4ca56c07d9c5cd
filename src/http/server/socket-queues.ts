import { readFile } from 'node:fs/promises'
import type { Socket } from 'node:net'

export type SocketEnds = Pick<Socket, 'localPort' | 'remotePort'>

/**
 * What the system still has to send on connections, as Linux tells it: a client that reads a few kilobytes a second drains
 * the queue of its connection for minutes before the service may write again, and nothing else tells that it reads at all.
 */
export class SocketQueues {
  #reading: Promise<string> | null = null

  /** Another text when the system has sent something, or has more to send; null where the system does not say. */
  async markOf(ends: SocketEnds): Promise<string | null> {
    return (await this.#queuesOf(ends))?.join(' ') ?? null
  }

  /** Bytes that the system still has to send, or whose receipt it awaits; null where it does not say. */
  async unsentBytesOf(ends: SocketEnds): Promise<number | null> {
    const queues = (await this.#queuesOf(ends)) ?? []
    return queues.length === 0 ? null : queues.reduce((sum, bytes) => sum + Number.parseInt(bytes, 16), 0)
  }

  async #queuesOf({ localPort, remotePort }: SocketEnds): Promise<readonly string[] | null> {
    if (localPort === undefined || remotePort === undefined) return null
    // Many clients may be looked at in the same moment.
    this.#reading ??= readTables().finally(() => {
      this.#reading = null
    })
    const tables = await this.#reading
    if (tables === '') return null
    const queue = new RegExp(`:${hex(localPort)} [0-9A-F]+:${hex(remotePort)} [0-9A-F]{2} ([0-9A-F]{8}):`, 'g')
    return [...tables.matchAll(queue)].map(([, bytes = '']) => bytes)
  }
}

function hex(port: number): string {
  return port.toString(16).toUpperCase().padStart(4, '0')
}

/** The connections of IPv4 and of IPv6; other systems have no such files. */
async function readTables(): Promise<string> {
  const texts = await Promise.all(
    ['tcp', 'tcp6'].map((name) => readFile(`/proc/net/${name}`, 'latin1').catch(() => '')),
  )
  return texts.join('')
}
