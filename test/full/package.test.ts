// Starts as users have them that build or install: they take their time.

import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import process from 'node:process'
import t, { type Test } from 'tap'
import { packPackage, run, StartedProgram } from '../support/packed-package.ts'
import { repositoryRoot } from '../support/repository-root.ts'
import { createTestDirectory } from '../support/store/test-store.ts'

async function folderOf(t: Test): Promise<string> {
  const directory = await createTestDirectory()
  t.teardown(() => directory.remove())
  return directory.path
}

t.test('the tarball runs in an empty folder', async (t) => {
  const folder = await folderOf(t)
  const empty = join(folder, 'empty')
  mkdirSync(empty)
  const tarball = await packPackage(empty)
  const command = ['npx', '--yes', `./${basename(tarball)}`, '--log-level', 'warn'] as const
  const program = new StartedProgram(t, [...command], { cwd: empty, dataDir: join(folder, 'data') })
  const address = await program.address()
  t.equal((await fetch(`${address}/health/ready`)).status, 200)
  // npx hands the signal on, and has an exit code of its own.
  const pid = Number(readFileSync(join(folder, 'data', 'lock'), 'utf8'))
  process.kill(pid, 'SIGTERM')
  await program.exited
  t.notOk(existsSync(`/proc/${pid}`))
})

t.test(
  'a checkout is built once for each state of its sources, and keeps the builds that may be running',
  async (t) => {
    const root = await folderOf(t)
    for (const name of ['bin', 'src', 'workers', 'package.json', 'tsconfig.json', 'asconfig.json'])
      cpSync(join(repositoryRoot, name), join(root, name), { recursive: true })
    symlinkSync(join(repositoryRoot, 'node_modules'), join(root, 'node_modules'))
    const build = () => run(process.execPath, [join(root, 'bin/build.mjs')])
    const [first, meanwhile] = await Promise.all([build(), build()])
    t.equal(first.stdout, meanwhile.stdout, 'two starts at once build the same')
    t.match(first.stderr, /is being built/)
    t.ok(existsSync(join(first.stdout, 'src/codec/kernel.wasm')))
    t.same({ ...(await build()) }, { stdout: first.stdout, stderr: '' })

    const main = join(root, 'src/main.ts')
    const text = readFileSync(main, 'utf8')
    writeFileSync(main, 'const = 1\n')
    await t.rejects(build())
    t.ok(existsSync(first.stdout), 'a service that runs goes on with its own')

    const program = new StartedProgram(t, [join(root, 'bin/millrace'), '--help'], {
      cwd: root,
      dataDir: join(root, 'data'),
    })
    t.not(await program.exited, 0, 'what cannot be built is not started')
    writeFileSync(main, text)
    t.equal((await build()).stdout, first.stdout)
  },
)
