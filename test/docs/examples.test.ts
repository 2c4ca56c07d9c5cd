// Every command, query and answer of README.md and docs/ is run against a service that was started as a user starts it, page by
// page in the order of the page. test/support/page-blocks.ts says how blocks are written.

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { StartedProgram } from '../support/packed-package.ts'
import {
  blocksOf,
  isShown,
  type PageBlock,
  patternOf,
  scriptOf,
  statusMark,
  writtenByBlock,
} from '../support/page-blocks.ts'
import { repositoryRoot } from '../support/repository-root.ts'
import { createTestDirectory } from '../support/store/test-store.ts'

/** What no test can run, with the reason; each stands on its page as it stands here. */
const notRun: readonly { readonly page: string; readonly begins: string; readonly reason: string }[] = [
  {
    page: 'README.md',
    begins: 'npm install\nnpm start',
    reason: 'The network; test/package.test.ts starts the program, and test/full/package.test.ts installs the package.',
  },
  { page: 'docs/operations.md', begins: 'docker build', reason: 'Needs Docker and the network.' },
]

const documentedAddress = 'http://127.0.0.1:7181'
const pages = ['README.md', ...readdirSync(join(repositoryRoot, 'docs')).map((name) => `docs/${name}`)].filter((name) =>
  name.endsWith('.md'),
)
const curlPath = spawnSync('sh', ['-c', 'command -v curl'], { encoding: 'utf8' }).stdout.trim()

interface PageRun {
  readonly exitCode: number
  readonly stdout: ReadonlyMap<number, string>
  readonly stderr: ReadonlyMap<number, string>
  readonly said: string
}

function pageBlocks(page: string): readonly PageBlock[] {
  return blocksOf(readFileSync(join(repositoryRoot, page), 'utf8'))
}

function isRun(page: string, { language, text }: PageBlock): boolean {
  if (language !== 'sh' && language !== 'sql') return false
  return !notRun.some((one) => one.page === page && text.startsWith(one.begins))
}

t.test('what is not run stands on its page', async (t) => {
  for (const { page, begins } of notRun)
    t.ok(
      pageBlocks(page).some(({ text }) => text.startsWith(begins)),
      begins,
    )
})

t.test('each block says what it is', async (t) => {
  const known = /^(?:sh( status=\d{3})?|sql( \w+=\S+)*|(?:json|text) answer|text)$/
  for (const page of pages) {
    let before: PageBlock | undefined
    for (const block of pageBlocks(page)) {
      t.match(`${block.language} ${block.mode}`.trim(), known, `${page} line ${block.line}`)
      if (block.mode === 'answer')
        t.ok(before !== undefined && isRun(page, before), `${page} line ${block.line} answers a block`)
      before = block
    }
  }
})

t.test('the examples do what their pages say', { skip: curlPath === '' && 'curl is not installed' }, async (t) => {
  const service = await startService(t)
  for (const page of pages) {
    const blocks = pageBlocks(page)
    if (!blocks.some((block) => isRun(page, block))) continue
    await t.test(page, async (t) => {
      // The variables that the pages below docs/ use; README.md sets its own.
      const prelude = page.endsWith('README.md') ? [] : pageBlocks('docs/README.md').slice(0, 1)
      const run = await service.run(page, [...prelude, ...blocks.filter((block) => isRun(page, block))])
      if (!t.equal(run.exitCode, 0, `the shell ended well: ${run.said.slice(-2_000)}`)) return
      checkStatuses(t, page, run)
      checkAnswers(t, page, run)
    })
    await service.empty()
  }
})

function checkStatuses(t: Test, page: string, { stderr, stdout }: PageRun): void {
  for (const block of pageBlocks(page).filter((one) => isRun(page, one))) {
    const statuses = (stderr.get(block.line) ?? '').split('\n').filter((line) => line.startsWith(statusMark))
    const asked = /status=(\d+)/.exec(block.mode)?.[1]
    const where = `${page} line ${block.line}: ${stdout.get(block.line)?.slice(0, 1_000)}`
    if (asked !== undefined) t.equal(statuses.pop(), `${statusMark} ${asked}`, where)
    for (const status of statuses) t.match(status, / 2\d\d$/, where)
  }
}

function checkAnswers(t: Test, page: string, { stdout }: PageRun): void {
  let answered = ''
  for (const block of pageBlocks(page)) {
    const where = `${page} line ${block.line}`
    if (isRun(page, block)) answered = stdout.get(block.line) ?? ''
    if (block.mode !== 'answer') continue
    if (block.language === 'text') t.match(answered.trim(), patternOf(block.text.trim()), where)
    else t.ok(isShown(JSON.parse(block.text), JSON.parse(answered)), `${where}: ${answered}`)
  }
}

/** The service as `npm start` starts it, but for the port, and a shell for each page in a folder of its own. */
async function startService(t: Test) {
  const directory = await createTestDirectory()
  t.teardown(() => directory.remove())
  const dataDir = join(directory.path, 'millrace-data')
  const mainPath = fileURLToPath(new URL('../../src/main.js', import.meta.url))
  // Waits are long, so that a busy machine answers as any other.
  const waits = ['--events-wait-max-ms', '240000', '--query-time-max-ms', '240000']
  const urls = ['--url-allow', '127.0.0.1', '--url-allow-http']
  const flags = ['--log-level', 'warn', '--events-creates-per-minute-max', '0', ...waits, ...urls]
  const command = ['env', 'UV_THREADPOOL_SIZE=16', process.execPath, mainPath, ...flags] as const
  const program = new StartedProgram(t, command, { cwd: directory.path, dataDir })
  t.teardown(async () => {
    program.child.kill('SIGTERM')
    await program.exited
  })
  const address = await program.address()
  const token = readFileSync(join(dataDir, 'admin-token'), 'utf8').trim()
  const binPath = join(directory.path, 'bin')
  mkdirSync(binPath)
  const curl = `#!/bin/sh\nexec ${curlPath} -sS -w '%{stderr}\\n${statusMark} %{http_code}\\n' "$@"\n`
  writeFileSync(join(binPath, 'curl'), curl)
  chmodSync(join(binPath, 'curl'), 0o755)

  async function run(page: string, blocks: readonly PageBlock[]): Promise<PageRun> {
    const cwd = join(directory.path, page.replace('/', '-'))
    mkdirSync(cwd)
    symlinkSync(dataDir, join(cwd, 'millrace-data'))
    const script = scriptOf(blocks).replaceAll(documentedAddress, address)
    const env = { ...process.env, PATH: `${binPath}:${process.env['PATH']}` }
    const child = spawn('bash', ['-c', script], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
    const said = Promise.all([text(child.stdout), text(child.stderr)])
    const [code] = await once(child, 'close')
    const [stdout, stderr] = await said
    return {
      exitCode: code,
      stdout: writtenByBlock(stdout),
      stderr: writtenByBlock(stderr),
      said: `${stdout.slice(-1_000)}${stderr.slice(-1_000)}`,
    }
  }

  async function call(method: string, path: string): Promise<unknown> {
    const response = await fetch(`${address}${path}`, { method, headers: { authorization: `Bearer ${token}` } })
    return response.status === 204 ? null : await response.json()
  }

  /** Takes away what a page has made, so that each page begins with an empty service. */
  async function empty(): Promise<void> {
    for (const [kind, path] of [
      ['pipes', '/v0/pipes'],
      ['datasources', '/v0/datasources'],
      ['variables', '/v0/variables'],
    ] as const) {
      // The shape of the lists is what other tests check.
      const list = (await call('GET', path)) as Readonly<Record<string, readonly { readonly name: string }[]>>
      for (const { name } of list[kind] ?? []) await call('DELETE', `${path}/${name}?force=true`)
    }
  }

  return { run, empty }
}
