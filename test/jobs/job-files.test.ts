import { mkdir, readdir, rm, stat, truncate, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import t from 'tap'
import type { FileSpaceOptions } from '../../src/jobs/file-space.ts'
import { openJobFiles } from '../../src/jobs/job-files.ts'
import { createTestDirectory, silentLogger } from '../support/store/test-store.ts'

const [one, two, three] = [1, 2, 3].map((n) => `0000000${n}-0000-4000-8000-000000000000`) as [string, string, string]

interface Given {
  readonly known?: readonly string[]
  /** By job; one maker of all where nothing is said. */
  readonly owners?: Readonly<Record<string, string>>
  readonly space?: Partial<FileSpaceOptions>
  readonly path?: string
  readonly nowMs?: number
}

async function open(given: Given = {}) {
  const directory = await createTestDirectory()
  t.teardown(() => directory.remove())
  const path = given.path ?? join(directory.path, 'files')
  const reports: string[] = []
  const clock = { nowMs: given.nowMs ?? Date.now() }
  const files = await openJobFiles(
    {
      ...{ directory: path, keptMs: 1_000, now: () => clock.nowMs },
      ...{ bytesMax: 10, bytesPerOwnerMax: 100, fileBytesMin: 0, ...given.space },
    },
    {
      disk: { report: (reason) => void reports.push(reason), alsoAsk: () => undefined },
      logger: silentLogger,
      ownerOf: (id) => ((given.known ?? [one, two, three]).includes(id) ? (given.owners?.[id] ?? 'maker') : undefined),
    },
  )
  t.teardown(() => files.close())
  return { files, path, reports, clock }
}

async function* chunks(...texts: readonly (Error | string)[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) {
    if (text instanceof Error) throw text
    yield Buffer.from(text)
  }
}

t.test('a file is there once it is whole, for its owner alone', async (t) => {
  const { files, path, clock } = await open()
  t.same(await files.write(one, chunks('abc', 'de')), { byteCount: 5, keptUntilMs: clock.nowMs + 1_000 })
  t.equal((await stat(join(path, one))).mode & 0o777, 0o600)
  t.equal((await stat(path)).mode & 0o777, 0o700)
  const opened = await files.open(one)
  t.equal(opened?.byteCount, 5)
  t.equal(opened === null ? '' : (await buffer(opened.bytes)).toString(), 'abcde')
  t.equal(await files.open(two), null)
})

t.test('all of them have a maximum, and what is removed gives its room back', async (t) => {
  const { files, path } = await open()
  await files.write(one, chunks('123456'))
  await t.rejects(files.write(two, chunks('123', '45')), { code: 'JOB_FILES_FULL' })
  t.same(await readdir(path), [one])
  await files.write(two, chunks('1234'))
  await files.remove(one)
  await files.remove(one)
  await files.write(three, chunks('123456'))
  await t.rejects(files.write(one, chunks('1')), { code: 'JOB_FILES_FULL' })
})

t.test('what fails leaves nothing, and a full disk is told', async (t) => {
  const { files, path, reports } = await open()
  await t.rejects(files.write(one, chunks('123', new Error('broken'))), { message: 'broken' })
  const full = Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
  await t.rejects(files.write(one, chunks('123', full)), { code: 'DISK_UNAVAILABLE' })
  t.same(reports, ['the disk is full'])
  t.same(await readdir(path), [])
  await files.write(one, chunks('1234567890'))
})

t.test('files are kept for their time, over a start, and no longer', async (t) => {
  const { files, path, clock } = await open()
  await files.write(one, chunks('1'))
  clock.nowMs += 1_000
  t.equal(await files.open(one), null)
  files.close()
  const writtenAt = new Date(clock.nowMs - 500)
  await utimes(join(path, one), new Date(0), new Date(0))
  await writeFile(join(path, two), '12')
  await utimes(join(path, two), writtenAt, writtenAt)
  await writeFile(join(path, `${three}.part`), 'half')
  await writeFile(join(path, three), 'unknown')
  const again = await open({ path, known: [one, two], nowMs: clock.nowMs })
  t.same(await readdir(path), [two])
  t.equal((await again.files.open(two))?.byteCount, 2)
})

t.test('a file that somebody has taken away is none', async (t) => {
  const { files, path } = await open()
  await files.write(one, chunks('1'))
  await rm(join(path, one))
  t.equal(await files.open(one), null)
})

t.test('each owner has a share of the room, which a removal gives back', async (t) => {
  const owners = { [one]: 'a', [two]: 'a', [three]: 'b' }
  const { files, path } = await open({ owners, space: { bytesMax: 40, bytesPerOwnerMax: 10 } })
  await files.write(one, chunks('12345678'))
  await t.rejects(files.write(two, chunks('123')), {
    code: 'JOB_FILES_OF_TOKEN_FULL',
    message: /of one token have 10 /,
  })
  await files.write(three, chunks('1234567890'))
  files.close()
  const again = await open({ path, owners, space: { bytesMax: 40, bytesPerOwnerMax: 10 } })
  await t.rejects(again.files.write(two, chunks('123')), { code: 'JOB_FILES_OF_TOKEN_FULL' }, 'also after a start')
  await again.files.remove(one)
  t.notOk(again.files.has(one))
  await again.files.write(two, chunks('123'))
  t.ok(again.files.has(two))
})

t.test('a small file counts as one of the least size', async (t) => {
  const { files } = await open({ space: { bytesPerOwnerMax: 10, fileBytesMin: 4 } })
  await files.write(one, chunks('1'))
  await files.write(two, chunks())
  await t.rejects(files.write(three, chunks('1')), { code: 'JOB_FILES_OF_TOKEN_FULL' })
  await files.remove(two)
  await files.write(three, chunks('123', '456'))
})

t.test('a file that is shorter than it was written is none, and so is told in the log', async (t) => {
  const { files, path } = await open()
  await files.write(one, chunks('12345'))
  await truncate(join(path, one), 3)
  t.equal(await files.open(one), null)
})

t.test('folders among the files are left alone', async (t) => {
  const { files, path } = await open()
  files.close()
  await mkdir(join(path, 'lost+found'))
  await mkdir(join(path, one))
  const again = await open({ path })
  t.same((await readdir(path)).sort(), [one, 'lost+found'].sort())
  t.equal(await again.files.open(one), null)
})

t.test('a folder that somebody has taken away is made again', async (t) => {
  const { files, path } = await open()
  await rm(path, { recursive: true })
  await files.write(one, chunks('1'))
  t.equal((await stat(path)).mode & 0o777, 0o700)
  t.equal((await files.open(one))?.byteCount, 1)
})
