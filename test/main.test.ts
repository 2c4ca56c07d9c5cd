import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const mainPath = fileURLToPath(new URL('../src/main.js', import.meta.url))

function run(flags: readonly string[], environment: Record<string, string> = {}) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [mainPath, ...flags], {
    env: { ...process.env, ...environment },
    encoding: 'utf8',
    timeout: 20_000,
  })
  return { status, stdout, stderr }
}

t.test('--help prints the options and exits with 0', async (t) => {
  const { status, stdout, stderr } = run(['--help'])
  t.equal(status, 0)
  t.match(stdout, /Usage: millrace/)
  t.match(stdout, /--port <number> {3}MILLRACE_PORT/)
  t.equal(stderr, '')
})

t.test('--version prints the version and exits with 0', async (t) => {
  const { status, stdout } = run(['--version'])
  t.equal(status, 0)
  t.match(stdout, /^millrace \d+\.\d+\.\d+\n$/)
})

t.test('a wrong option is told on stderr, one line a mistake, and exits with 2', async (t) => {
  t.same(run(['--port', '70000'], { MILLRACE_WORKERS: 'many' }), {
    status: 2,
    stdout: '',
    stderr:
      'millrace: --port is 70000, but must be from 0 to 65535.\nmillrace: MILLRACE_WORKERS is "many", but must be a whole number.\n',
  })
})

t.test('a limit of open files that does not suffice refuses the start, and says what to raise', async (t) => {
  const { status, stdout, stderr } = spawnSync(
    'bash',
    ['-c', `ulimit -n 300; exec "$0" "$@"`, process.execPath, mainPath],
    {
      env: { ...process.env, MILLRACE_DATA_DIR: t.testdir(), MILLRACE_PORT: '0' },
      encoding: 'utf8',
      timeout: 20_000,
    },
  )
  t.same([status, stdout], [1, ''])
  t.match(
    stderr,
    /did not start: .* open 300 files, and at least 512 .*ulimit -n 8192\) \(docs\/recovery\.md#open_files/,
  )
})
