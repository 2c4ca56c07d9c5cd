import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import type { createApp } from '../../../src/app.ts'
import { openRawClient, type RawClient } from '../raw-client.ts'

/** Lets the app listen on a free port until the test ends; gives what opens a connection to it, which ends with the test. */
export async function listen(
  t: Test,
  app: ReturnType<typeof createApp>,
): Promise<(localAddress?: string) => Promise<RawClient>> {
  t.teardown(() => app.close())
  const listening: Promise<string> = app.listen({ host: '127.0.0.1', port: 0 })
  await listening
  // A server that listens on TCP has such an address.
  const { port } = app.server.address() as AddressInfo
  return async (localAddress) => {
    const client = await openRawClient(port, localAddress)
    t.teardown(() => client.socket.destroy())
    return client
  }
}
