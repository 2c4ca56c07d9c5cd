// Pipes and their answers together: each change shows in the next answer, whatever is kept from the one before.

import t from 'tap'
import { errorOf, openPipeService } from '../support/api/pipe-service.ts'

const pipes = await openPipeService(t)
const { call, service } = pipes
await service.append('events', 'csv', '2026-01-01,ann,1\n2026-01-02,bob,2\n2026-01-03,cem,3\n')

/** The answer of an endpoint or a query as CSV without its header, or the status and the error. */
async function answer(path: string): Promise<string> {
  const got = await call('GET', `/v0/${path}`)
  return got.status === 200 ? got.text.split('\n').slice(1, -1).join(';') : `${got.status} ${errorOf(got)}`
}

const sql = (query: string) => answer(`sql?${new URLSearchParams({ q: `${query} FORMAT CSVWithNames` })}`)

t.test('the node that is published answers, as it is now, under the name that the pipe has now', async (t) => {
  await pipes.create('top', 'SELECT max(n) AS n FROM events', 'SELECT n + 10 AS n FROM n0')
  t.match(await answer('pipes/top.csv'), /^404 /, 'none is published')
  t.equal(await sql('SELECT n FROM top'), '13', 'but SQL can read it: its last node')
  await call('POST', '/v0/pipes/top/nodes/n0/endpoint')
  t.equal(await answer('pipes/top.csv'), '3')
  t.equal(await sql('SELECT n FROM top'), '3')
  await call('POST', '/v0/pipes/top/nodes/n1/endpoint')
  t.equal(await answer('pipes/top.csv'), '13')
  await call('PUT', '/v0/pipes/top/nodes/n0', { body: 'SELECT min(n) AS n FROM events' })
  t.equal(await answer('pipes/top.csv'), '11', 'a node that it reads was changed')
  await call('PUT', '/v0/pipes/top/nodes/n1', { body: '% SELECT n + {{Int32(more, 100)}} AS n FROM n0' })
  t.equal(await answer('pipes/top.csv'), '101')
  t.equal(await answer('pipes/top.csv?more=7'), '8')
  await call('PUT', '/v0/pipes/top?name=best')
  t.equal(await answer('pipes/best.csv'), '101')
  t.match(await answer('pipes/top.csv'), /^404 /)
  await call('DELETE', '/v0/pipes/best/endpoint')
  t.match(await answer('pipes/best.csv'), /^404 /)
  await call('DELETE', '/v0/pipes/best')
  t.match(await sql('SELECT n FROM best'), /^40[04] .*best/)
})

t.test('a copy over a pipe changes its answers at once, and those of who reads it', async (t) => {
  await pipes.create('now', 'SELECT 1 AS n')
  await pipes.create('reads_now', 'SELECT n * 10 AS n FROM now')
  for (const name of ['now', 'reads_now']) await call('PUT', `/v0/pipes/${name}/endpoint`, { body: 'n0' })
  t.equal(await answer('pipes/reads_now.csv'), '10')
  await pipes.create('next', 'SELECT 2 AS n')
  await call('POST', '/v0/pipes?name=now&from=next')
  t.equal(await answer('pipes/now.csv'), '2', 'its endpoint had the same name')
  t.equal(await answer('pipes/reads_now.csv'), '20')
})

t.test('a node that breaks later fails when it is queried, in names of its author, and works again', async (t) => {
  await service.create('fragile', 'a UInt8')
  await service.append('fragile', 'csv', '7\n')
  await pipes.create('over', 'SELECT a FROM fragile', 'SELECT a FROM n0')
  await call('PUT', '/v0/pipes/over/endpoint', { body: 'n1' })
  t.equal(await answer('pipes/over.csv'), '7')
  await call('DELETE', '/v0/datasources/fragile?force=true')
  t.match(await answer('pipes/over.csv'), /^40[04] .*fragile/)
  t.equal((await pipes.show('over')).type, 'endpoint', 'the pipe is as it was')
  await service.create('fragile', 'b String')
  t.match(await answer('pipes/over.csv'), /^400 .*`?a`?/)
  await call('DELETE', '/v0/datasources/fragile?force=true')
  await service.create('fragile', 'a UInt8')
  await service.append('fragile', 'csv', '8\n')
  t.equal(await answer('pipes/over.csv'), '8')
  await call('DELETE', '/v0/pipes/over/nodes/n0')
  t.match(await answer('pipes/over.csv'), /^40[04] .*n0/, 'the pipe may become inconsistent')
  t.match(await call('PUT', '/v0/pipes/over/nodes/n1', { body: 'SELECT a FROM fragile' }), { status: 200 })
  t.equal(await answer('pipes/over.csv'), '8')
})

t.test('a ring that deletions closed is an error of queries', async (t) => {
  await pipes.create('left', 'SELECT 1 AS a', 'SELECT 2 AS a')
  await pipes.create('right', 'SELECT a FROM left')
  await call('PUT', '/v0/pipes/left/endpoint', { body: 'n1' })
  t.match(await call('PUT', '/v0/pipes/left/nodes/n0', { body: 'SELECT a FROM right' }), { status: 200 })
  t.equal(await sql('SELECT a FROM left'), '2')
  await call('DELETE', '/v0/pipes/left/endpoint')
  t.equal(await sql('SELECT a FROM left'), '2')
  t.equal((await call('DELETE', '/v0/pipes/left/nodes/n1')).status, 204)
  t.match(await sql('SELECT a FROM left'), /^400 Circular dependency/)
  t.match(await sql('SELECT a FROM right'), /^400 Circular dependency/)
  t.match(await call('PUT', '/v0/pipes/left/nodes/n0', { body: 'SELECT 5 AS a' }), { status: 200 }, 'it can be mended')
  t.equal(await sql('SELECT a FROM right'), '5')
})
