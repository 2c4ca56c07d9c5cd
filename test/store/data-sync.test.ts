// The shell that stands by to sync: what becomes of a sync when it is ended, or says that the disk refused.

import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import t, { type Test } from 'tap'
import { FileSystemSync } from '../../src/store/embedded/data-sync.ts'
import { createTestDirectory } from './test-store.ts'

/** A `sync` that runs these lines in a folder of its own, for shells that are started from now on. */
async function withSync(t: Test, lines: string): Promise<string> {
  const directory = await createTestDirectory()
  t.teardown(() => directory.remove())
  writeFileSync(join(directory.path, 'sync'), `#!/bin/sh\n${lines}\n`)
  chmodSync(join(directory.path, 'sync'), 0o755)
  const { PATH } = process.env
  process.env['PATH'] = `${directory.path}:${PATH}`
  t.teardown(() => {
    process.env['PATH'] = PATH
  })
  return directory.path
}

function openSync(t: Test, directory: string): FileSystemSync {
  const fileSystem = new FileSystemSync(directory)
  t.teardown(() => fileSystem.close())
  return fileSystem
}

const childrenOf = (pid: number): readonly number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)

t.test('the file system of a directory is synced, however many ask at once', async (t) => {
  const fileSystem = openSync(t, '/tmp')
  t.same(await Promise.all([fileSystem.run(), fileSystem.run(), fileSystem.run()]), ['synced', 'synced', 'synced'])
})

t.test('directories are called what they are called', async (t) => {
  const folder = await withSync(t, '[ "$1 $2" = "-f /tmp/a \\"b\\"  *" ] || { echo "$2" >&2; exit 1; }')
  t.ok(folder)
  t.equal(await openSync(t, '/tmp/a "b"  *').run(), 'synced')
})

t.test('what the disk refuses is an error with its words', async (t) => {
  await withSync(t, 'echo "sync: error syncing \'/x\': No space left on device" >&2; exit 1')
  await t.rejects(openSync(t, '/tmp').run(), { message: /No space left on device/, diskFault: 'the disk is full' })
})

t.test('a sync that knows no -f, and none at all, are told', async (t) => {
  await withSync(t, 'echo "sync: invalid option -- f" >&2; exit 1')
  t.equal(await openSync(t, '/tmp').run(), 'unsupported')
  const { PATH } = process.env
  process.env['PATH'] = '/nowhere'
  t.teardown(() => {
    process.env['PATH'] = PATH
  })
  t.equal(await openSync(t, '/tmp').run(), 'unsupported')
})

t.test(
  'a shell that somebody killed is started again, also in the middle of a sync, and ends with its service',
  async (t) => {
    const before = childrenOf(process.pid)
    const folder = await withSync(
      t,
      '[ -e "$0.slow" ] && { rm "$0.slow"; kill -9 "$(cat "$0.pid")"; sleep 1; }; exit 0',
    )
    const fileSystem = openSync(t, '/tmp')
    t.equal(await fileSystem.run(), 'synced')
    const shells = childrenOf(process.pid).filter((pid) => !before.includes(pid))
    t.equal(shells.length, 1)
    writeFileSync(join(folder, 'sync.pid'), String(shells[0]))
    writeFileSync(join(folder, 'sync.slow'), '')
    t.equal(await fileSystem.run(), 'synced')
    for (const pid of childrenOf(process.pid).filter((pid) => !before.includes(pid))) process.kill(pid, 'SIGKILL')
    t.equal(await fileSystem.run(), 'synced')
  },
)
