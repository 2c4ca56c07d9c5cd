// What is published, as somebody has it who installs it: unpacked beside installed packages.

import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packPackage, run, StartedProgram } from './support/packed-package.ts'
import { repositoryRoot } from './support/repository-root.ts'
import { createTestDirectory } from './support/store/test-store.ts'

t.test('the package has what runs, and nothing of the tests, and its program is the service', async (t) => {
  const directory = await createTestDirectory()
  t.teardown(() => directory.remove())
  const tarball = await packPackage(directory.path)
  await run('tar', ['-xzf', tarball, '-C', directory.path])
  const { stdout } = await run('tar', ['-tzf', tarball])
  const files = stdout.split('\n').filter((name) => name !== '')
  const folders = new Set(files.map((name) => name.split('/').slice(1, -1).slice(0, 2).join('/')))
  t.same([...folders].sort(), ['', 'bin', 'dist/src', 'dist/workers', 'docs'])
  for (const name of ['README.md', 'LICENSE', 'dist/src/codec/kernel.wasm'])
    t.ok(files.includes(`package/${name}`), name)

  symlinkSync(join(repositoryRoot, 'node_modules'), join(directory.path, 'package', 'node_modules'))
  // As npm puts programs into a folder of the PATH.
  const [bin, elsewhere] = [join(directory.path, 'bin'), join(directory.path, 'elsewhere')]
  for (const folder of [bin, elsewhere]) mkdirSync(folder)
  symlinkSync('../package/bin/millrace', join(bin, 'millrace'))
  const program = new StartedProgram(t, [join(bin, 'millrace'), '--log-level', 'warn'], {
    cwd: elsewhere,
    dataDir: join(directory.path, 'data'),
  })
  const address = await program.address()
  t.equal((await fetch(`${address}/health/ready`)).status, 200)
  t.notMatch(program.log, /UV_THREADPOOL_SIZE/, 'the program sets what Node reads before it starts')
  program.child.kill('SIGTERM')
  t.equal(await program.exited, 0, 'signals reach the service')
})
