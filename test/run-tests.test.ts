// The program that runs the tests: each file is told as what it was, whatever others did to its process.

import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import process from 'node:process'
import t from 'tap'
import { temporaryDirectory } from './support/catalog/test-catalog.ts'
import { repositoryRoot } from './support/repository-root.ts'

const sound = "t.test('a', async (t) => { t.ok(true) })"
const files = {
  sound,
  skipped: `${sound}; t.test('b', { skip: 'why' }, async () => undefined)`,
  failing: "t.test('a', async (t) => { t.ok(true); t.equal(1, 2) })",
  ending: `t.test('a', async (t) => { t.ok(true); process.exit(0) })`,
  killed: `t.test('a', async (t) => { t.ok(true); process.kill(process.pid, 'SIGKILL'); await new Promise(() => undefined) })`,
  throwing: "throw new Error('no')",
  late: "t.test('a', async (t) => { t.ok(true); setImmediate(() => { throw new Error('no') }); await new Promise(() => undefined) })",
  closing: `${sound}; t.teardown(() => { throw new Error('no') })`,
  empty: '',
}

/** Runs files of these names, in this order. `more` is added to each. */
function run(names: readonly (keyof typeof files)[], more = '') {
  const directory = temporaryDirectory(t)
  const paths = names.map((name, index) => {
    const path = join(directory, `${index}-${name}.test.mjs`)
    writeFileSync(path, `import t from '${import.meta.resolve('tap')}'\n${files[name]}\n${more}`)
    return path
  })
  const program = join(repositoryRoot, 'dist/test/run-tests.js')
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('TAP')))
  const { stdout, status } = spawnSync(process.execPath, [program, ...paths], { encoding: 'utf8', env })
  const ends = paths.map((path) => {
    const line = stdout
      .split('\n')
      .find((one) => one.includes(relative(repositoryRoot, path)) && /^(?:not )?ok /.test(one))
    return line?.startsWith('ok ') === true ? 'passed' : (/: (.+) # time/.exec(line ?? '')?.[1] ?? 'not told')
  })
  return { ends, status, totals: /^# \{ .* \}$/m.exec(stdout)?.[0], stdout }
}

t.test('files that pass are counted, with what they skip', async (t) => {
  const { ends, status, totals } = run(['sound', 'skipped', 'sound', 'sound'])
  t.same(ends, ['passed', 'passed', 'passed', 'passed'])
  t.equal(totals, '# { total: 5, pass: 4, fail: 0, skip: 1 }')
  t.equal(status, 0)
})

t.test('a file that fails, or ends its process, fails alone', async (t) => {
  const faulty = ['failing', 'ending', 'killed', 'throwing', 'late', 'closing', 'empty'] as const
  const { ends, status, totals, stdout } = run([...faulty, 'sound', 'sound', 'sound'])
  for (const [index, name] of faulty.entries()) t.notMatch(ends[index], /^(?:passed|not told)$/, `${name}: ${stdout}`)
  t.same(ends.slice(faulty.length), ['passed', 'passed', 'passed'], stdout)
  t.match(totals, /fail: 7/)
  t.equal(status, 1)
})

t.test('what shows only when a process ends is told with its files', async (t) => {
  const { status, stdout } = run(['sound'], 'process.exitCode = 4')
  t.match(stdout, /^not ok the process of .*0-sound\.test\.mjs: exit code 4/m)
  t.equal(status, 1)
})
