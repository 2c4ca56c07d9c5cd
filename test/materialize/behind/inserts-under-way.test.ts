import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { readBootId } from '../../../src/directory/boot-id.ts'
import { type InsertsUnderWay, openInsertsUnderWay } from '../../../src/materialize/behind/inserts-under-way.ts'
import type { WrittenAppend } from '../../../src/store/store.types.ts'
import { createTestDirectory } from '../../support/store/test-store.ts'

const table = 't_00000000000000000000000000000001'

class Case {
  readonly dataDir: string
  readonly own: string
  #count = 0

  constructor(dataDir: string, bootId: string) {
    this.dataDir = dataDir
    this.own = join(dataDir, 'inserts-under-way', bootId)
  }

  /** As a start does, behind a kill of the one before. */
  open(): Promise<InsertsUnderWay> {
    return openInsertsUnderWay(this, { store: { newPartPath: () => this.#newPath() } })
  }

  async append(blockId: string, ...parts: readonly string[]): Promise<WrittenAppend> {
    const paths = parts.map(() => this.#newPath())
    for (const [index, path] of paths.entries()) await writeFile(path, parts[index] ?? '')
    const leftOut = new Set(['b'])
    const partition = { key: 'key' as never, columns: [], partitionsMax: 5, leftOut, judge: () => undefined }
    const request = { table, layout: { fields: [], targets: [] }, parts: [], rowCount: 7, blockId, partition }
    return { request, paths }
  }

  async files(): Promise<readonly string[]> {
    return (await readdir(this.own)).toSorted()
  }

  #newPath(): string {
    this.#count += 1
    return join(this.dataDir, 'parts', `${this.#count}.arrow`)
  }
}

async function openCase(t: Test): Promise<Case> {
  const directory = await createTestDirectory()
  t.teardown(() => directory.remove())
  await mkdir(join(directory.path, 'parts'), { recursive: true })
  return new Case(directory.path, (await readBootId()) ?? '')
}

t.test('what was under way when the process ended is what it was, in the order in which it came', async (t) => {
  const opened = await openCase(t)
  const first = await opened.open()
  t.same(first.left, [])
  for (let index = 0; index < 12; index += 1) await first.add(await opened.append(`b-${index}`, `one ${index}`, 'two'))
  const second = await opened.open()
  t.same(second.left, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])
  const left = await second.read(11)
  t.match(left, { table, partCount: 2, request: { blockId: 'b-11', rowCount: 7 } })
  t.ok(left?.request.partition?.leftOut?.has('b'))
  const { parts = [] } = (left && (await second.open(left))) ?? {}
  const texts = await Promise.all(parts.map(({ path }) => readFile(path, 'utf8')))
  t.same(texts, ['one 11', 'two'])
  t.same(
    parts.map(({ byteCount }) => byteCount),
    [6, 3],
  )
  t.match(await second.add(await opened.append('next')), { number: 12 }, 'the numbers go on')
})

t.test('nothing is left of what has ended', async (t) => {
  const opened = await openCase(t)
  const first = await opened.open()
  const [one, other] = [
    await first.add(await opened.append('one', 'a', 'b')),
    await first.add(await opened.append('other', 'c')),
  ]
  if (one !== null) await first.end(one)
  t.same(await opened.files(), ['1.0', '1.1'])
  const second = await opened.open()
  t.same(second.left, [1])
  if (other !== null) await second.end(other)
  if (other !== null) await second.end(other)
  t.same(await opened.files(), [])
})

t.test('one whose files are not all there had not begun, or had ended', async (t) => {
  const opened = await openCase(t)
  const first = await opened.open()
  await first.add(await opened.append('whole', 'a', 'b'))
  const text = await readFile(join(opened.own, '0.0'))
  for (let length = 0; length <= text.length; length += 1) {
    await writeFile(join(opened.own, '1.0'), text.subarray(0, length))
    for (const index of [1, 2]) await writeFile(join(opened.own, `1.${index}`), 'part')
    const left = await (await opened.open()).read(1)
    t.equal(left === null, length < text.length, `${length} bytes of ${text.length}`)
    if (left === null) t.same(await opened.files(), ['0.0', '0.1', '0.2'])
  }
  for (const missing of ['0.0', '0.1', '0.2']) {
    await rm(join(opened.own, missing))
    t.equal(await (await opened.open()).read(0), null, `without ${missing}`)
    await (await opened.open()).add(await opened.append('whole', 'a', 'b'))
    for (const name of await opened.files()) if (!name.startsWith('0.')) await rm(join(opened.own, name))
    for (const index of [0, 1, 2]) await writeFile(join(opened.own, `0.${index}`), index === 0 ? text : 'part')
  }
})

t.test('what is of another boot of the machine is gone', async (t) => {
  const opened = await openCase(t)
  await opened.open()
  const other = join(opened.dataDir, 'inserts-under-way', 'other-boot')
  await mkdir(other)
  await writeFile(join(other, '0.0'), 'x')
  t.same((await opened.open()).left, [])
  t.same(await readdir(join(opened.dataDir, 'inserts-under-way')), [await readBootId()])
})

t.test('nothing is left of one that could not be written', async (t) => {
  const opened = await openCase(t)
  const underWay = await opened.open()
  const append = await opened.append('gone', 'a', 'b')
  await rm(append.paths[1] ?? '')
  await t.rejects(underWay.add(append), { code: 'ENOENT' })
  t.same(await opened.files(), [])
})
