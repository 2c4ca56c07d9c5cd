import t from 'tap'
import { kibibyte, mebibyte } from '../../../src/shared/bytes.ts'
import { ReadMixed } from '../../../src/store/embedded/exchanged-reads.ts'
import { wholeResult } from '../../../src/store/embedded/result-file.ts'
import { Selects } from '../../../src/store/embedded/selects.ts'
import type { SelectQuery, SelectStream } from '../../../src/store/store.types.ts'
import { StoreError, stoppedError } from '../../../src/store/store-error.ts'
import { checked } from '../../support/checked-text.ts'

const tooLarge = new StoreError({ kind: 'engine', message: 'Limit for result exceeded', clickhouseCode: 396 })
const unread = new StoreError({ kind: 'unread', message: '4 answers wait for their clients to read them' })
const fromFile = wholeResult(Buffer.from('from the file'))

/** Queries over a session that gives `memory`, and files that give `fromFile`. */
function createSelects({
  memory = new Uint8Array(1),
  isAlone = false,
}: {
  memory?: Uint8Array
  isAlone?: boolean
} = {}) {
  const events: string[] = []
  const state = { memory, failure: null as Error | null, refusal: null as Error | null, full: null as Error | null }
  const throwThe = (error: Error | null): void => {
    if (error !== null) throw error
  }
  const session = { run: async () => '', runForBytes: async () => state.memory }
  const selects = new Selects({
    engine: {
      admit: (name, work) => {
        events.push(`admit ${name}`)
        return work(isAlone)
      },
      throwIfRefusing: () => throwThe(state.refusal),
    },
    statements: {
      lend: (work, { passesPause = false }) => {
        events.push(passesPause ? 'lent in a pause' : 'lent')
        return work(session)
      },
      select: async (_session, { id }) => {
        events.push(`memory ${id}`)
        throwThe(state.failure)
        return state.memory
      },
      queryTree: async (sql, _isAlone, { passesPause = false }) => `${sql}${passesPause ? ' in a pause' : ''}`,
    },
    files: {
      select: async ({ id }) => {
        events.push(`file ${id}`)
        return fromFile
      },
    },
    results: {
      hold: (_result, byteCount) => {
        events.push(`hold ${byteCount}`)
      },
      throwIfFull: () => throwThe(state.full),
    },
  })
  const query = (fields: Partial<SelectQuery> = {}): SelectQuery => {
    return { sql: checked('SELECT 1'), format: 'CSV', settings: {}, signal: new AbortController().signal, ...fields }
  }
  const select = (fields?: Partial<SelectQuery>): Promise<SelectStream> => selects.select(query(fields))
  return { selects, select, query, events, state }
}

t.test('a query without a shape, or with long constants, goes through a file', async (t) => {
  const { select, events } = createSelects()
  t.equal(await select(), fromFile)
  t.equal(await select({ shape: 'one', hasLongConstants: true }), fromFile)
  t.same(events, ['admit SELECT 1', 'file select-1', 'admit one', 'file select-2'])
})

t.test('a query with a shape has its small result from memory', async (t) => {
  const { select, events, state } = createSelects()
  state.memory = Buffer.from('1\n')
  t.equal((await select({ shape: 'one' })).whole, state.memory)
  t.same(events, ['admit one', 'lent', 'memory select-1'])
})

t.test('a result too large for memory goes through a file, and so do all others of its shape', async (t) => {
  const { select, events, state } = createSelects()
  state.failure = tooLarge
  t.equal(await select({ shape: 'large' }), fromFile)
  t.same(events.splice(0), ['admit large', 'lent', 'memory select-1', 'file select-2'])
  await select({ shape: 'large' })
  t.same(events.splice(0), ['admit large', 'file select-3'])
  state.failure = null
  await select({ shape: 'other' })
  t.same(events, ['admit other', 'lent', 'memory select-4'])
})

t.test(
  'a result of more bytes than a mebibyte is given once, and the next one of its shape goes through a file',
  async (t) => {
    const { select, events, state } = createSelects()
    state.memory = new Uint8Array(mebibyte)
    await select({ shape: 'long' })
    await select({ shape: 'long' })
    state.memory = new Uint8Array(mebibyte + 1)
    await select({ shape: 'long' })
    t.same(
      events.splice(0).filter((event) => /hold|file/.test(event)),
      [`hold ${mebibyte}`, `hold ${mebibyte}`, `hold ${mebibyte + 1}`],
    )
    t.equal(await select({ shape: 'long' }), fromFile)
  },
)

t.test('an error of the engine is told as it is, and a client that has left hears of that', async (t) => {
  const { select, state } = createSelects()
  state.failure = new StoreError({ kind: 'engine', message: 'Unknown table', clickhouseCode: 60 })
  t.match(await failure(select({ shape: 'one' })), { clickhouseCode: 60 })
  t.match(await failure(select({ shape: 'one', signal: AbortSignal.abort() })), { kind: 'aborted' })
})

t.test('nothing begins while results wait or the engine does not come back, but what mends its tables', async (t) => {
  const { select, selects, query, events, state } = createSelects({ memory: new Uint8Array(kibibyte) })
  state.full = unread
  await t.rejects(select(), unread)
  t.equal(await selects.queryTree(checked('SELECT 1'), query().signal), 'SELECT 1')
  state.refusal = stoppedError()
  state.full = null
  t.match(await failure(select()), { kind: 'stopped' })
  t.match(await failure(selects.queryTree(checked('SELECT 1'), query().signal)), { kind: 'stopped' })
  state.full = unread
  events.length = 0
  await selects.whilePaused.select(query({ shape: 'one' }))
  t.same(events, ['admit one', 'lent in a pause', 'memory select-1'])
  t.equal(await selects.whilePaused.queryTree(checked('SELECT 1'), query().signal), 'SELECT 1 in a pause')
})

t.test('what runs alone passes the pause that it has made', async (t) => {
  const { selects, select, query, events } = createSelects({ isAlone: true })
  await select({ shape: 'one' })
  t.same(events, ['admit one', 'lent in a pause', 'memory select-1'])
  t.equal(await selects.queryTree(checked('SELECT 1'), query().signal), 'SELECT 1 in a pause')
})

function failure(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => null,
    (thrown: unknown) => thrown,
  )
}

t.test('a query whose tables were exchanged while it ran is asked again, some times', async (t) => {
  const { select, events, state } = createSelects()
  state.failure = new ReadMixed()
  t.match(await select({ shape: 'one' }).catch((thrown: unknown) => thrown), {
    kind: 'busy',
    message: /exchanged each time/,
  })
  t.same(
    events.filter((event) => event.startsWith('memory')),
    ['memory select-1', 'memory select-2', 'memory select-3', 'memory select-4'],
  )
})
