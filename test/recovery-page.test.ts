import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { flagName, optionKeys } from '../src/config.ts'
import { errorTable } from '../src/shared/errors/errors.ts'
import { startRefusalCodes, startRefusals } from '../src/shared/errors/start-refusals.ts'
import { toStartRefusal } from '../src/start-refusal.ts'
import { WalCorruptError } from '../src/wal/wal-errors.ts'
import { repositoryRoot } from './support/repository-root.ts'

const page = readFileSync(join(repositoryRoot, 'docs', 'recovery.md'), 'utf8')
const [starts = '', running = ''] = page.split('\n## Refusals while it runs\n')

function sectionsOf(text: string): readonly string[] {
  return [...text.matchAll(/^### (\S+)$/gm)].map(([, code = '']) => code).sort()
}

t.test('each refusal of a start has its section, and each section its refusal', async (t) => {
  t.same(sectionsOf(starts), ['OPTIONS_WRONG', ...startRefusalCodes].sort())
})

t.test('each answer 5xx has its section, and each section its answer', async (t) => {
  const codes = errorTable.filter(({ status }) => status >= 500).map(({ code }) => code)
  t.same(sectionsOf(running), codes.sort())
})

t.test('each option that the page or a refusal names is one', async (t) => {
  const flags = new Set(optionKeys.map((key) => `--${flagName(key)}`))
  const others = ['--help']
  const table = readFileSync(join(repositoryRoot, 'src', 'shared', 'errors', 'start-refusals.ts'), 'utf8')
  for (const [flag] of `${page}\n${table}`.matchAll(/(?<![\w-])--[a-z][a-z-]+/g)) {
    t.ok(flags.has(flag) || others.includes(flag), flag)
  }
})

t.test('a damaged log names the option that helps, and the place where its steps are', async (t) => {
  const damage = { file: 'a.log', offset: 7, reason: 'marker', firstLost: 3, nextGood: null } as const
  const places = { dataDir: '/data', host: 'localhost', port: 1 }
  t.match(toStartRefusal(new WalCorruptError([damage]), places), {
    code: 'LOG_DAMAGED',
    message: /a\.log at byte 7 .*--events-log-on-damage keep-aside/,
    documentation: 'docs/recovery.md#log_damaged',
  })
})

t.test('a log that is gone says what is gone with it, and where its steps are', async (t) => {
  const damage = { file: '1.wal', offset: 0, reason: 'missing', firstLost: 3, lastLost: 9, nextGood: null } as const
  t.match(toStartRefusal(new WalCorruptError([damage], 2400), { dataDir: '/data', host: 'localhost', port: 1 }), {
    code: 'LOG_MISSING',
    message:
      /1\.wal is gone, and with it the entries 3 to 9; at most 2400 rows waited .*--events-log-on-damage keep-aside/,
    documentation: 'docs/recovery.md#log_missing',
  })
})

t.test('errors of the system become refusals by the call that failed', async (t) => {
  const places = { dataDir: '/data', host: 'localhost', port: 80 }
  const failed = (syscall: string) => Object.assign(new Error(`EACCES: ${syscall}`), { code: 'EACCES', syscall })
  t.match(toStartRefusal(failed('listen'), places), { code: 'ADDRESS_UNAVAILABLE', message: /^localhost:80 .*--port/ })
  t.match(toStartRefusal(failed('mkdir'), places), { code: 'DATA_DIR_UNUSABLE', message: /\/data .*--data-dir/ })
  const other = failed('connect')
  t.equal(toStartRefusal(other, places), other)
  const refusal = startRefusals.DATA_DIR_IN_USE({ path: '/data' })
  t.equal(toStartRefusal(refusal, places), refusal)
})

t.test('a missing kernel.wasm is told as a file of the program, and not of the data directory', async (t) => {
  const path = join(dirname(fileURLToPath(import.meta.url)), '..', 'src', 'codec', 'kernel.wasm')
  const missing = Object.assign(new Error(`ENOENT: no such file or directory, open '${path}'`), {
    ...{ code: 'ENOENT', syscall: 'open', path },
  })
  const places = { host: 'localhost', port: 80 }
  t.match(toStartRefusal(missing, { ...places, dataDir: '/data' }), {
    code: 'PROGRAM_INCOMPLETE',
    message: /kernel\.wasm cannot be read: .*npm run build/,
  })
  // Whoever runs the sources may keep the data beside them.
  t.match(toStartRefusal(missing, { ...places, dataDir: dirname(path) }), { code: 'DATA_DIR_UNUSABLE' })
})
