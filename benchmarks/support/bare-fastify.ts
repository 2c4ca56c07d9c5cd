import { fileURLToPath } from 'node:url'
import { assert } from '../../src/shared/assert.ts'
import type { BareAddress } from './bare-fastify-server.ts'
import { startTaskChild } from './child-tasks.ts'

/** A Fastify server with one route that reads the body and answers 202, in a process of its own. */
export interface BareFastify {
  readonly url: string
  readonly pid: number
  close(): Promise<void>
}

/** Starts it with the flags of Node that the service has. It ends with this process. */
export async function startBareFastify(): Promise<BareFastify> {
  const modulePath = fileURLToPath(import.meta.resolve('./bare-fastify-server.js'))
  const child = startTaskChild<{ readonly kind: 'listen' }, BareAddress>(modulePath, [
    '--single-threaded-gc',
    '--enable-source-maps',
  ])
  const { url } = await child.ask({ kind: 'listen' })
  assert(url !== '', 'a server that listens has an address')
  return { url, pid: child.pid, close: () => child.close() }
}
