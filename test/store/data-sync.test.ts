// The shell that stands by to sync: what becomes of a sync when it is ended, or says that the disk refused.

import { execFile } from 'node:child_process'
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { FileSystemSync } from '../../src/store/embedded/data-sync.ts'
import { untilGone } from '../support/store/engine-pid.ts'
import { createTestDirectory } from '../support/store/test-store.ts'

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

t.test('words of any kind are an error of the disk, and answer one sync alone', async (t) => {
  const folder = await withSync(t, 'cat "$0.words" >&2; rm "$0.words" 2>/dev/null || exit 0; exit 1')
  const fileSystem = openSync(t, '/tmp')
  const said = [
    'back\\\\c slash\\c',
    '0\n0\n0',
    '',
    '-n',
    "sync: error syncing '/x': nobody knows",
    'x'.repeat(300_000),
    '\\0101 %s %d',
  ]
  for (const words of said) {
    writeFileSync(join(folder, 'sync.words'), words)
    const [failed, following] = await Promise.allSettled([fileSystem.run(), fileSystem.run()])
    t.match(
      failed,
      { status: 'rejected', reason: { diskFault: 'the disk cannot be read or written' } },
      words.slice(0, 40),
    )
    t.same(following, { status: 'fulfilled', value: 'synced' })
  }
  writeFileSync(join(folder, 'sync.words'), 'a\\c %s\n  b')
  await t.rejects(fileSystem.run(), { message: /: a\\c %s {1,3}b$/ })
})

t.test('the words are those of no language but English', async (t) => {
  const { LC_ALL } = process.env
  process.env['LC_ALL'] = 'de_DE.UTF-8'
  t.teardown(() => {
    if (LC_ALL === undefined) delete process.env['LC_ALL']
    else process.env['LC_ALL'] = LC_ALL
  })
  await withSync(t, '[ "$LC_ALL" = C ]')
  t.equal(await openSync(t, '/tmp').run(), 'synced')
})

t.test('a close ends a sync that hangs, with all of its processes', async (t) => {
  const folder = await withSync(t, 'echo $$ > "$0.pid.new"; mv "$0.pid.new" "$0.pid"; exec sleep 1000')
  const fileSystem = openSync(t, '/tmp')
  const running = fileSystem.run()
  running.catch(() => undefined)
  while (!existsSync(join(folder, 'sync.pid'))) await delay(5)
  fileSystem.close()
  await untilGone(Number(readFileSync(join(folder, 'sync.pid'), 'utf8')))
  await t.rejects(running, { message: /was ended/ })
})

t.test('a service that has as many files open as it may is told so, and syncs again when it has fewer', async (t) => {
  const program = `
    import { closeSync, openSync } from 'node:fs'
    import { FileSystemSync } from ${JSON.stringify(import.meta.resolve('../../src/store/embedded/data-sync.js'))}
    const fileSystem = new FileSystemSync('/tmp')
    const open = []
    try { for (;;) open.push(openSync('/dev/null')) } catch (error) { if (error.code !== 'EMFILE') throw error }
    const failed = await fileSystem.run().catch((error) => error)
    for (const file of open) closeSync(file)
    console.log(failed.name, failed.diskFault, await fileSystem.run())
    fileSystem.close()`
  const command = 'ulimit -n 60; exec "$0" --input-type=module -e "$1"'
  const { stdout } = await promisify(execFile)('sh', ['-c', command, process.execPath, program])
  t.equal(stdout, 'SyncError the process has too many open files synced\n')
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
