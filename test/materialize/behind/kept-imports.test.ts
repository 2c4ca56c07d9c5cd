import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type KeptImports, openKeptImports } from '../../../src/materialize/behind/kept-imports.ts'
import { openLmdbStorage } from '../../../src/storage/lmdb-storage.ts'
import type { WrittenAppend } from '../../../src/store/store.types.ts'
import { createTestDirectory, silentLogger } from '../../support/store/test-store.ts'

const source = 't_00000000000000000000000000000001'
/** What is kept of one part lies in two files, each of one block of the disk. */
const blockBytes = 2 * 4096

interface Opened {
  readonly imports: KeptImports
  readonly dataDir: string
  /** An INSERT of one part, which is written. */
  append(blockId: string, part?: string): Promise<WrittenAppend>
  files(): Promise<readonly string[]>
  reopen(): Promise<Opened>
}

async function openCase(t: Test, bytesMax = 100 * blockBytes): Promise<Opened> {
  const directory = await createTestDirectory()
  t.teardown(() => directory.remove())
  return await openOn(t, directory.path, bytesMax)
}

async function openOn(t: Test, dataDir: string, bytesMax: number): Promise<Opened> {
  await mkdir(join(dataDir, 'parts'), { recursive: true })
  const storage = await openLmdbStorage(join(dataDir, 'catalog.lmdb'))
  let isClosed = false
  const close = async (): Promise<void> => {
    if (!isClosed) await storage.close()
    isClosed = true
  }
  t.teardown(close)
  let count = 0
  const newPartPath = (): string => {
    count += 1
    return join(dataDir, 'parts', `${count}.arrow`)
  }
  const options = { dataDir, viewsBacklogImportBytesMax: bytesMax }
  const imports = await openKeptImports(options, { storage, store: { newPartPath }, logger: silentLogger })
  return {
    imports,
    dataDir,
    append: async (blockId, part = 'part') => {
      const path = newPartPath()
      await writeFile(path, part)
      const request = { table: source, layout: { fields: [], targets: [] }, parts: [], rowCount: 1, blockId }
      return { request, paths: [path] }
    },
    files: async () => (await readdir(join(dataDir, 'views-backlog'))).toSorted(),
    reopen: async () => {
      await close()
      return await openOn(t, dataDir, bytesMax)
    },
  }
}

async function add({ imports }: Opened, append: WrittenAppend, place = 0) {
  return await imports.add(append, { place, byteCount: await imports.bytesOf(append) })
}

t.test('a view passes over none that is being written while a later one is there', async (t) => {
  const opened = await openCase(t)
  const { imports } = opened
  imports.keep('v', source, 0)
  const [slow, quick] = [await opened.append('slow', 'x'.repeat(8_000_000)), await opened.append('quick')]
  const byteCount = await imports.bytesOf(slow)
  const adding = imports.add(slow, { place: 0, byteCount })
  await imports.noteStored(await imports.add(quick, { place: 0, byteCount: 1 }))
  t.match(imports.firstOf('v', 0), { blockId: 'slow', isStored: false })
  await imports.noteStored(await adding)
  t.match(imports.firstOf('v', 0), { blockId: 'slow', isStored: true })
  t.match(imports.firstOf('v', 1), { blockId: 'quick' })
})

t.test('each is kept as long as some view needs it', async (t) => {
  const opened = await openCase(t)
  const { imports } = opened
  imports.keep('a', source, 0)
  for (const blockId of ['one', 'two']) await imports.noteStored(await add(opened, await opened.append(blockId)))
  imports.keep('b', source, 1)
  t.same(imports.countsOf('a'), { blockCount: 2, byteCount: 2 * blockBytes })
  t.same(imports.countsOf('b'), { blockCount: 1, byteCount: blockBytes })
  await imports.letGo('a')
  t.same(await opened.files(), ['1.0', '1.1'])
  await imports.moveTo('b', 2)
  t.same(await opened.files(), [])
  t.equal(imports.isEmpty, true)
  await imports.noteStored(await add(opened, await opened.append('three')))
  t.same(imports.countsOf('b'), { blockCount: 1, byteCount: blockBytes }, 'numbers go on')
})

t.test('one that is added again is the same one, unless it is of other rows', async (t) => {
  const opened = await openCase(t)
  const { imports } = opened
  imports.keep('v', source, 0)
  const append = await opened.append('again')
  const first = await add(opened, append)
  t.equal((await add(opened, append)).number, first.number)
  const other = await add(opened, { ...append, request: { ...append.request, rowCount: 2 } })
  t.not(other.number, first.number)
  t.equal(imports.all.length, 1)
  await imports.noteStored(other)
  t.equal((await add(opened, append)).number, other.number, 'its rows are stored')
  t.same(imports.countsOf('v'), { blockCount: 1, byteCount: blockBytes })
})

t.test('so many bytes are kept, and no more', async (t) => {
  const opened = await openCase(t, 2 * blockBytes)
  const { imports } = opened
  imports.keep('v', source, 0)
  const bytes = await imports.bytesOf(await opened.append('any'))
  t.equal(bytes, blockBytes)
  t.same(
    [2 * blockBytes - 1, 2 * blockBytes, 2 * blockBytes + 1].map((count) => imports.mayHold(count)),
    [true, true, false],
  )
  const first = await add(opened, await opened.append('first'))
  t.same([imports.hasRoomFor(blockBytes), imports.hasRoomFor(blockBytes + 1)], [true, false])
  await add(opened, await opened.append('second'))
  t.equal(imports.hasRoomFor(1), false)
  await imports.drop(first)
  t.equal(imports.hasRoomFor(blockBytes), true)
})

t.test('what the disk refuses is not kept', async (t) => {
  const opened = await openCase(t)
  const { imports } = opened
  const append = await opened.append('gone')
  for (const path of append.paths) await rm(path)
  await t.rejects(imports.add(append, { place: 0, byteCount: 1 }), { code: 'ENOENT' })
  t.equal(imports.isEmpty, true)
  t.same(await opened.files(), [])
})

t.test('a start finds what was kept, what was under way, and what is damaged', async (t) => {
  const first = await openCase(t)
  first.imports.keep('v', source, 0)
  const stored = await add(first, await first.append('stored', 'abc'))
  await first.imports.noteStored(stored)
  await add(first, await first.append('doubtful'))
  await first.imports.noteStored(await add(first, await first.append('damaged', 'abc')))
  await writeFile(join(first.dataDir, 'views-backlog', '2.1'), 'abd')
  await writeFile(join(first.dataDir, 'views-backlog', '77.0'), 'of nothing')

  const second = await first.reopen()
  const { imports } = second
  t.same(
    imports.doubtful.map(({ blockId }) => blockId),
    ['doubtful'],
  )
  imports.keep('v', source, 0)
  await imports.tidy()
  t.same(await second.files(), ['0.0', '0.1', '1.0', '1.1', '2.0', '2.1'])
  t.equal(imports.next, 3)
  const opened = await Promise.all(imports.all.map((one) => imports.open(one)))
  t.match(opened, [{ blockId: 'stored', parts: [{ byteCount: 3 }] }, { blockId: 'doubtful' }, null])

  const third = await second.reopen()
  await third.imports.tidy()
  t.same(await third.files(), ['1.0', '1.1'], 'nobody needs what is stored')
})
