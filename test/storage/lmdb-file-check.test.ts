import { copyFileSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { checkLmdbFile } from '../../src/storage/lmdb-file-check.ts'
import { openLmdbStorage } from '../../src/storage/lmdb-storage.ts'
import { openSettings } from '../../src/storage/settings.ts'
import { recordKinds } from '../../src/storage/storage.types.ts'
import { StorageDamagedError } from '../../src/storage/storage-errors.ts'
import { catalogOver, dataSource, temporaryDirectory } from '../support/catalog/test-catalog.ts'
import { SeededRandom, testSeed } from '../support/seeded-random.ts'
import { byTier } from '../support/tier.ts'

const pageBytes = 4096
const treeBytes = 48
const nodeBytes = 8

/** A catalog with trees of two levels, records that need pages of their own, and a list of free pages. */
async function writtenCatalog(t: Test): Promise<string> {
  const path = join(temporaryDirectory(t), 'catalog.lmdb')
  const storage = await openLmdbStorage(path)
  const catalog = await catalogOver(storage)
  for (let count = 0; count < 40; count += 1) {
    const source = { ...dataSource(`d_${count}`), description: 'x'.repeat(count % 10 === 0 ? 9_000 : 500) }
    await catalog.begin(source)
    await catalog.complete(source.id)
  }
  for (const { id } of catalog.list().slice(0, 5)) await catalog.remove(id)
  await (await openSettings(storage)).write('admin_token', 'p.secret')
  await storage.close()
  return path
}

t.test('a whole catalog passes, and one that is missing', async (t) => {
  const path = await writtenCatalog(t)
  checkLmdbFile(path)
  checkLmdbFile(`${path}-of-nobody`)
  const storage = await openLmdbStorage(path)
  t.teardown(() => storage.close())
  t.equal((await storage.list('data_sources')).length, 35)
})

t.test('a catalog that is cut anywhere in what is used is refused before lmdb maps it', async (t) => {
  const path = await writtenCatalog(t)
  const whole = readFileSync(path)
  const copy = join(temporaryDirectory(t), 'catalog.lmdb')
  let refusedCount = 0
  for (let size = 1; size < whole.length; size += 1_111) {
    copyFileSync(path, copy)
    truncateSync(copy, size)
    const fault = faultOf(copy)
    if (fault === null) continue
    refusedCount += 1
    t.match(
      fault,
      { name: 'StorageDamagedError', message: /cut at byte|not of a catalog|not as it was written/ },
      `${size} bytes`,
    )
  }
  t.ok(refusedCount > 5, 'behind the last used page lies only room')
})

t.test('other contents are refused with what is wrong', async (t) => {
  const path = await writtenCatalog(t)
  const whole = readFileSync(path)
  const cases: readonly (readonly [name: string, change: (bytes: Buffer) => Uint8Array, message: RegExp])[] = [
    ['zeros', (bytes) => bytes.fill(0), /its first page is not of a catalog/],
    ['text', () => Buffer.from('not a catalog\n'.repeat(1_000)), /its first page is not of a catalog/],
    ['one byte', () => Buffer.from('x'), /it is cut at byte 1/],
    ['magic of the first page', flipped(24), /its first page is not of a catalog/],
    ['magic of the second page', flipped(pageBytes + 24), /its second page is not of a catalog/],
    ['version', flipped(28), /its first page is of another kind/],
    ['size of pages', flipped(49), /its first page has a size that no page has/],
    ['size of the map', (bytes) => set(bytes, 40, 0xff), /has a size that no catalog has|contradict|page/],
    [
      'first page twice',
      (bytes) => set(bytes, pageBytes, bytes.subarray(0, pageBytes)),
      /second page has a size that no page/,
    ],
    ['number of the change', (bytes) => set(bytes, 24 + 128, 0x77), /changes \d+ and \d+|number of another/],
  ]
  const copy = join(temporaryDirectory(t), 'catalog.lmdb')
  for (const [name, change, message] of cases) {
    writeFileSync(copy, change(Buffer.from(whole)))
    t.match(faultOf(copy), { name: 'StorageDamagedError', message }, name)
  }
})

t.test('a flipped bit is refused, or changes nothing that is read', async (t) => {
  const path = await writtenCatalog(t)
  const whole = readFileSync(path)
  const expected = await readThenClose(path)
  const directory = temporaryDirectory(t)
  const random = new SeededRandom(testSeed())
  const tried = byTier({ quick: 50, full: 200, soak: 400 })
  let refusedCount = 0
  for (let count = 0; count < tried; count += 1) {
    // A file of its own each time: one that is mapped must not change.
    const copy = join(directory, `${count}.lmdb`)
    const offset = random.below(Math.min(whole.length, 60 * pageBytes))
    writeFileSync(copy, set(Buffer.from(whole), offset, whole.readUInt8(offset) ^ (1 << (count % 8))))
    const fault = faultOf(copy)
    if (fault !== null) {
      refusedCount += 1
      if (!(fault instanceof StorageDamagedError)) t.fail(`byte ${offset}: ${String(fault)}`)
      continue
    }
    const found = await readThenClose(copy).catch((error: unknown) => error)
    if (found instanceof StorageDamagedError) refusedCount += 1
    else t.same(found, expected, `byte ${offset}`)
  }
  t.comment(`${refusedCount} of ${tried} are refused, seed ${testSeed()}`)
  t.ok(refusedCount > tried / 20)
})

t.test('a flipped bit in what lmdb keeps of a map is refused, or changes nothing that is read', async (t) => {
  const path = await writtenCatalog(t)
  const whole = readFileSync(path)
  const expected = await readThenClose(path)
  const directory = temporaryDirectory(t)
  const name = 'settings'
  const step = byTier({ quick: 5, full: 1, soak: 1 })
  // Sizes and flags stand before the map's name, kind, depth, counts and first page behind it. Older pages, which nobody
  // reads, hold it too.
  for (let place = whole.indexOf(name); place !== -1; place = whole.indexOf(name, place + 1)) {
    for (let offset = place - nodeBytes; offset < place + name.length + treeBytes; offset += step) {
      for (const bit of offset < place ? [0, 1, 2, 3, 4, 5, 6, 7] : [offset % 8]) {
        const copy = join(directory, `${offset}-${bit}.lmdb`)
        writeFileSync(copy, set(Buffer.from(whole), offset, whole.readUInt8(offset) ^ (1 << bit)))
        const found = faultOf(copy) ?? (await readThenClose(copy).catch((error: unknown) => error))
        if (!(found instanceof StorageDamagedError)) t.same(found, expected, `byte ${offset}, bit ${bit}`)
      }
    }
  }
})

function faultOf(path: string): unknown {
  try {
    checkLmdbFile(path)
    return null
  } catch (error) {
    return error
  }
}

async function readThenClose(path: string): Promise<unknown> {
  const storage = await openLmdbStorage(path)
  try {
    return await Promise.all(recordKinds.map((kind) => storage.list(kind)))
  } finally {
    await storage.close()
  }
}

function flipped(offset: number): (bytes: Buffer) => Buffer {
  return (bytes) => set(bytes, offset, bytes.readUInt8(offset) ^ 1)
}

function set(bytes: Buffer, offset: number, value: number | Uint8Array): Buffer {
  bytes.set(typeof value === 'number' ? [value] : value, offset)
  return bytes
}
