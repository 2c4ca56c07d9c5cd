import { existsSync } from 'node:fs'
import { readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { CheckedQuery } from '../../../src/schema/expressions/checked-text.types.ts'
import { kibibyte, mebibyte } from '../../../src/shared/bytes.ts'
import { FileSelects } from '../../../src/store/embedded/file-selects.ts'
import { OpenResults } from '../../../src/store/embedded/open-results.ts'
import { StoreError, timeoutError } from '../../../src/store/store-error.ts'
import { checked } from '../../support/checked-text.ts'
import { createTestDirectory, silentLogger } from '../../support/store/test-store.ts'

type Write = (path: string, signal: AbortSignal) => Promise<void>

/** Results that `write` makes instead of an engine. */
async function createFiles(t: Test, write: Write, resultBytesMax = 4 * mebibyte) {
  const { path: directory, remove } = await createTestDirectory()
  t.teardown(remove)
  const limits = { openResultsMax: 4, heldResultBytesMax: 0, resultFilesBytesMax: 8 * mebibyte }
  const results = new OpenResults(limits, silentLogger)
  const session = { run: async () => '', runForBytes: async () => new Uint8Array() }
  const running: Promise<unknown>[] = []
  const late = { error: null as Error | null }
  const files = new FileSelects(
    { directory, resultBytesMax },
    {
      results,
      statements: {
        lend: async (work) => {
          const worked = work(session)
          running.push(worked.catch(() => undefined))
          if (late.error !== null) throw late.error
          return await worked
        },
        select: async (_session, { path, query }) => {
          await write(path ?? '', query.signal)
          return new Uint8Array()
        },
      },
    },
  )
  const { signal } = new AbortController()
  const query = { sql: checked<CheckedQuery>('SELECT 1'), format: 'CSV', settings: {}, signal }
  const select = () => files.select({ query, id: 'select-1', isAlone: false })
  const left = () => readdir(directory)
  return { select, left, results, running, late, directory }
}

t.test('a result is streamed from a file that has no name any more, and counts until it is read', async (t) => {
  const { select, left, results } = await createFiles(t, (path) => writeFile(path, Buffer.alloc(mebibyte, 'x')))
  const stream = await select()
  t.same(await left(), [])
  t.equal(results.files.usedBytes, mebibyte)
  let byteCount = 0
  for await (const chunk of stream) byteCount += chunk.byteLength
  t.equal(byteCount, mebibyte)
  await results.close()
  t.equal(results.files.usedBytes, 0)
})

t.test('the folder of the files may be gone', async (t) => {
  const { select, directory } = await createFiles(t, (path) => writeFile(path, '1\n'))
  await rm(directory, { recursive: true })
  for await (const chunk of await select()) t.equal(Buffer.from(chunk).toString(), '1\n')
  t.ok(existsSync(directory))
})

t.test('a query that fails halfway leaves no file, and takes nothing', async (t) => {
  const { select, left, results } = await createFiles(t, async (path) => {
    await writeFile(path, 'half')
    throw new StoreError({ kind: 'engine', message: 'Division by zero', clickhouseCode: 153 })
  })
  t.match(await failure(select()), { clickhouseCode: 153 })
  t.same(await left(), [])
  t.equal(results.files.usedBytes, 0)
})

t.test('the file that a query makes after it was given up goes when it has ended', async (t) => {
  let go = (): void => undefined
  const given = new Promise<void>((resolve) => {
    go = resolve
  })
  const { select, left, running, late, directory } = await createFiles(t, async (path) => {
    await given
    await writeFile(path, 'late')
    t.ok(existsSync(join(directory, 'select-1')))
  })
  late.error = timeoutError(10_000)
  t.match(await failure(select()), { clickhouseCode: 159 })
  go()
  await Promise.all(running)
  t.same(await left(), [])
})

t.test('a result is refused when its file is larger than its limit', async (t) => {
  for (const byteCount of [4 * kibibyte, 4 * kibibyte + 1]) {
    const { select, left } = await createFiles(t, (path) => writeFile(path, Buffer.alloc(byteCount)), 4 * kibibyte)
    if (byteCount === 4 * kibibyte) await t.resolves(select())
    else t.match(await failure(select()), { clickhouseCode: 396 })
    t.same(await left(), [])
  }
})

t.test('a result that grows over its limit is stopped while it is written', async (t) => {
  const stopped = await createFiles(
    t,
    async (path, signal) => {
      await writeFile(path, Buffer.alloc(2 * kibibyte))
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
      throw new StoreError({ kind: 'engine', message: 'Query was cancelled', clickhouseCode: 394 })
    },
    kibibyte,
  )
  t.match(await failure(stopped.select()), { clickhouseCode: 396 })
  t.same(await stopped.left(), [])
})

function failure(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => null,
    (thrown: unknown) => thrown,
  )
}
