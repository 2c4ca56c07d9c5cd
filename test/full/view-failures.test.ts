import t, { type Test } from 'tap'
import type { Options } from '../../src/config.ts'
import { openEmbeddedStore } from '../../src/store/embedded/embedded-store.ts'
import { endedJob, jobIdOf } from '../support/api/job-calls.ts'
import { type Answer, type Call, liveOn, type TestService } from '../support/api/test-service.ts'
import { urlOptions } from '../support/imports/url-imports.ts'
import { openRemoteServer } from '../support/remote-server.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from '../support/store/test-store.ts'

const schema = 'n UInt32 `json:$.n`, s String `json:$.s`'
const sources = ['appended', 'sent', 'replaced', 'replayed', 'fetched']
/** Everything that only a token that reads everything may be told: a value, and the names of what the view reads and fills. */
const untold = /CANARY|vault|v_of_|filled_|toUInt32|Cannot parse/
const isUntold = /a token that may read everything is told why/

function live(t: Test, dataDir: string, given: Partial<Options> = {}): Promise<TestService> {
  return liveOn(t, dataDir, { ...urlOptions, ...given })
}

/** Data sources whose views fail at a 13, with a value of a data source of which their names tell nothing. */
async function setUp(t: Test): Promise<{ readonly service: TestService; readonly dataDir: string }> {
  const directory = await createTestDirectory()
  t.teardown(() => directory.remove())
  const first = await live(t, directory.path)
  await first.create('vault', 'secret String `json:$.secret`')
  await first.events('vault', '{"secret":"CANARY"}', { wait: 'true' })
  const vault = await first.idOf('vault')
  const views: string[] = []
  for (const name of sources) {
    await first.create(name, schema)
    await first.create(`filled_by_${name}`, 'n UInt32')
    const [source, target] = [await first.idOf(name), await first.idOf(`filled_by_${name}`)]
    views.push(
      `CREATE MATERIALIZED VIEW ws_0001.v_of_${name} TO ws_0001.${target} AS
         SELECT toUInt32(if(n = 13, assumeNotNull((SELECT any(secret) FROM ws_0001.${vault})), '1')) AS n FROM ws_0001.${source}`,
    )
  }
  await first.close()
  const store = await openEmbeddedStore(testStoreOptions(directory.path), silentLogger)
  for (const view of views) await store.command(view)
  await store.close()
  return { service: await live(t, directory.path), dataDir: directory.path }
}

interface Readers {
  /** Tokens that write, and may not read all that a view does, by their names. */
  readonly writers: ReadonlyMap<string, string>
  /** Those that may be told everything. */
  readonly everything: ReadonlyMap<string, string | undefined>
}

async function tokensFor(service: TestService, t: Test): Promise<Readers> {
  const tokenWith = async (name: string, ...scopes: readonly string[]): Promise<string> => {
    const body = new URLSearchParams([['name', name], ...scopes.map((scope): [string, string] => ['scope', scope])])
    const answer = await service.call('POST', '/v0/tokens', { body: body.toString() })
    t.equal(answer.status, 200, answer.text)
    return (answer.json as { readonly token: string }).token
  }
  const create = 'DATASOURCES:CREATE'
  return {
    writers: new Map([
      ['creator', await tokenWith('creator', create)],
      ['reader of sources', await tokenWith('reader', create, ...sources.map((name) => `DATASOURCES:READ:${name}`))],
      ['filtered', await tokenWith('filtered', create, 'WORKSPACE:READ_ALL', "DATASOURCES:READ:vault:secret = 'a'")],
    ]),
    everything: new Map([
      ['all', await tokenWith('all', create, 'WORKSPACE:READ_ALL')],
      ['admin', undefined],
    ]),
  }
}

/** Asks in turn as each of the tokens, and looks at what it is told. */
async function askAll(t: Test, { writers, everything }: Readers, ask: (call: Call, name: string) => Promise<Answer>) {
  for (const [name, token] of writers) {
    const { text, status } = await ask({ token }, name)
    t.ok(status === 200 || status === 422 || status === 503, `${name}: ${status}`)
    t.match(text, isUntold, name)
    t.notMatch(text, untold, name)
  }
  for (const [name, token] of everything) {
    const { text } = await ask(token === undefined ? {} : { token }, name)
    t.match(text, /CANARY/, name)
  }
}

t.test('what a view fails with is told to whoever may read everything, and to no other writer', async (t) => {
  const { service, dataDir } = await setUp(t)
  const readers = await tokensFor(service, t)
  const withoutCreator = new Map([...readers.writers].filter(([name]) => name !== 'creator'))
  const row = '{"n":13,"s":"a"}\n'
  const post = (parameters: Readonly<Record<string, string>>, call: Call) =>
    service.call('POST', `/v0/datasources?${new URLSearchParams({ format: 'ndjson', ...parameters })}`, call)
  await t.test('of appends, whichever way they are answered', async (t) => {
    for (const more of [{}, { progress: 'true' }, { debug: 'blocks,block_log' }]) {
      await askAll(t, readers, (call) => post({ mode: 'append', name: 'appended', ...more }, { ...call, body: row }))
    }
    const fromBody = (call: Call) => {
      const form = new FormData()
      form.set('mode', 'append')
      form.set('name', 'appended')
      form.set('csv', new Blob(['13,a\n']))
      return service.call('POST', '/v0/datasources?format=csv', { ...call, body: form })
    }
    await askAll(t, readers, fromBody)
  })
  await t.test('of replaces', async (t) => {
    for (const more of [{}, { progress: 'true' }]) {
      await askAll(t, readers, (call) => post({ mode: 'replace', name: 'replaced', ...more }, { ...call, body: row }))
    }
  })
  await t.test('of replays', async (t) => {
    const replay = async (call: Call) => {
      await service.append('replayed', 'ndjson', '{"n":"x","s":"13"}\n')
      const body = new URLSearchParams({ 'fixes.n': 's' }).toString()
      return await service.call('POST', '/v0/datasources/replayed/quarantine/replay', { ...call, body })
    }
    // To give a fix needs the right to read.
    await askAll(t, { ...readers, writers: withoutCreator }, replay)
  })
  await t.test('of imports by URL, by whoever they were made, before and after a start', async (t) => {
    const server = await openRemoteServer(t, (_request, response) => response.end(row))
    const ids: string[] = []
    const token = readers.writers.get('creator')
    for (const mode of ['append', 'replace']) {
      const url = `${server.origin}/rows.ndjson`
      for (const maker of [{}, ...(token === undefined ? [] : [{ token }])]) {
        const id = jobIdOf(await post({ mode, name: 'fetched', url }, maker))
        t.match(await endedJob(service, id), { status: 'error' })
        ids.push(id)
      }
    }
    t.equal(ids.length, 4)
    const look = async (at: TestService): Promise<void> => {
      for (const id of ids) {
        for (const query of ['', '?progress=true', '?debug=blocks']) {
          await askAll(t, readers, (call) => at.call('GET', `/v0/jobs/${id}${query}`, call))
        }
      }
    }
    await look(service)
    await service.close()
    await look(await live(t, dataDir))
  })
  await t.test('of events, of those that wait behind them, and of the data source that has them', async (t) => {
    const again = await live(t, dataDir)
    let sentCount = 0
    const send = (call: Call) => {
      sentCount += 1
      return again.events('sent', `{"n":13,"s":"${sentCount}"}`, { wait: 'true' }, call)
    }
    const first = await send({ token: readers.writers.get('creator') ?? '' })
    t.match(first, { status: 422, json: { error: isUntold } })
    t.notMatch(first.text, untold)
    await askAll(t, readers, async (call) => {
      const answer = await send(call)
      t.equal(answer.status, 503)
      return answer
    })
    await askAll(t, { ...readers, writers: withoutCreator }, (call) => again.call('GET', '/v0/datasources/sent', call))
  })
})
