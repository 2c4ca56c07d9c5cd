import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { lockDirectory } from '../../src/directory/lock.ts'
import { StartRefusal } from '../../src/shared/errors/start-refusals.ts'
import { createTestDirectory, silentLogger } from '../support/store/test-store.ts'

/** Holds the lock until it is killed. */
async function holdElsewhere(path: string): Promise<{ readonly child: ChildProcess; readonly word: string }> {
  const module = fileURLToPath(import.meta.resolve('../support/directory/lock-process.js'))
  const child = spawn(process.execPath, [module, path], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [word] = await once(child.stdout, 'data')
  return { child, word: String(word).trim() }
}

t.test(
  'a data directory is refused while another process holds its lock, and taken when that one is killed',
  async (t) => {
    const directory = await createTestDirectory()
    t.teardown(() => directory.remove())
    const { child, word } = await holdElsewhere(directory.path)
    t.teardown(() => child.kill('SIGKILL'))
    t.equal(word, 'held')
    await t.rejects(lockDirectory(directory.path, silentLogger), { code: 'DATA_DIR_IN_USE' })
    t.equal(await readFile(join(directory.path, 'lock'), 'utf8'), `${child.pid}\n`, 'the file says who has it')
    child.kill('SIGKILL')
    await once(child, 'exit')
    const lock = await lockDirectory(directory.path, silentLogger)
    t.equal(await readFile(join(directory.path, 'lock'), 'utf8'), `${process.pid}\n`)
    lock.release()
  },
)

t.test('the lock of a process is refused to itself too, and can be taken again when it is given back', async (t) => {
  const directory = await createTestDirectory()
  t.teardown(() => directory.remove())
  const path = join(directory.path, 'not', 'there', 'yet')
  const first = await lockDirectory(path, silentLogger)
  await t.rejects(lockDirectory(path, silentLogger), StartRefusal)
  first.release()
  const second = await lockDirectory(path, silentLogger)
  second.release()
})

t.test('what a process starts does not hold its lock', async (t) => {
  const directory = await createTestDirectory()
  t.teardown(() => directory.remove())
  const lock = await lockDirectory(directory.path, silentLogger)
  const child = spawn(process.execPath, ['-e', 'process.stdout.write("up"); setInterval(() => 0, 1000)'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  lock.release()
  const again = await lockDirectory(directory.path, silentLogger)
  again.release()
})

t.test(
  'a directory that nobody can make is refused, and does not hang',
  {
    skip: process.platform !== 'linux',
  },
  async (t) => {
    await t.rejects(lockDirectory('/proc/millrace', silentLogger), { code: 'ENOENT' })
    await t.rejects(lockDirectory('/proc/not/there', silentLogger), { code: 'ENOENT' })
  },
)
