// What the pages refer to exists: other pages and their sections, scripts, options, error codes.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { environmentName, flagName, optionKeys } from '../../src/config.ts'
import { errorTable } from '../../src/shared/errors/errors.ts'
import { startRefusalCodes } from '../../src/shared/errors/start-refusals.ts'
import { repositoryRoot } from '../support/repository-root.ts'

const docsPages = readdirSync(join(repositoryRoot, 'docs')).filter((name) => name.endsWith('.md'))
const pages = ['README.md', 'CONTRIBUTING.md', ...docsPages.map((name) => `docs/${name}`)]

function read(page: string): string {
  return readFileSync(join(repositoryRoot, page), 'utf8')
}

/** The text without its fenced blocks. */
function proseOf(page: string): string {
  return read(page).replace(/^```[\s\S]*?^```$/gm, '')
}

/** What stands in single backticks. */
function inlineCodes(page: string): readonly string[] {
  return [...proseOf(page).matchAll(/(?<!`)`([^`\n]+)`(?!`)/g)].map(([, code = '']) => code)
}

/** The anchors of a page as GitHub makes them of headings, and those that it sets itself. */
function anchorsOf(page: string): ReadonlySet<string> {
  const text = proseOf(page)
  const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
  const own = [...text.matchAll(/<a id="([^"]+)">/g)].map(([, id = '']) => id)
  return new Set([...headings, ...own])
}

for (const page of pages) {
  t.test(`each link of ${page} leads to a file, and to a section that is there`, async (t) => {
    for (const [, target = ''] of proseOf(page).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^https?:/.test(target)) continue
      const [file = '', anchor] = target.split('#')
      const path = file === '' ? page : join(dirname(page), file)
      if (!t.ok(existsSync(join(repositoryRoot, path)), target) || anchor === undefined) continue
      t.ok(anchorsOf(path).has(anchor), target)
    }
  })

  t.test(`each script and option that ${page} names is one`, async (t) => {
    const { scripts } = JSON.parse(read('package.json')) as { readonly scripts: Readonly<Record<string, string>> }
    for (const [, script = ''] of read(page).matchAll(/npm run (?:--silent )?([\w:]+)/g))
      t.ok(script in scripts, script)
    const flags = new Set([
      'help',
      'version',
      'stop-timeout',
      'single-threaded-gc',
      'no-allocation-site-pretenuring',
      ...optionKeys.map((key) => flagName(key)),
    ])
    const variables = new Set(optionKeys.map((key) => environmentName(key)))
    for (const code of page.startsWith('docs/') || page === 'README.md' ? inlineCodes(page) : []) {
      const flag = /^--([a-z\d-]+)/.exec(code)?.[1]
      if (flag !== undefined) t.ok(flags.has(flag), code)
      if (/^MILLRACE_[A-Z\d_]+$/.test(code) && !code.endsWith('_')) t.ok(variables.has(code), code)
      if (/^[a-z]+[A-Za-z\d]*(?:Max|Ms)$/.test(code)) t.ok((optionKeys as readonly string[]).includes(code), code)
    }
  })
}

t.test('each file and program that a page names is there', async (t) => {
  for (const page of pages) {
    const programs = [...read(page).matchAll(/dist\/((?:src|benchmarks|test)\/[\w/.-]+)\.js/g)].map(
      ([, name]) => `${name}.ts`,
    )
    const files = inlineCodes(page).filter((code) =>
      /^(?:src|test|docs|benchmarks|workers|fixtures)\/[\w/.-]+\.(?:ts|md)$/.test(code),
    )
    for (const path of [...programs, ...files]) t.ok(existsSync(join(repositoryRoot, path)), `${page}: ${path}`)
  }
})

t.test('each error code that a page names is one', async (t) => {
  const known = new Set<string>([...errorTable.map(({ code }) => code), ...startRefusalCodes, 'OPTIONS_WRONG'])
  const others = new Set(['JE_MALLOC_CONF', 'NODE_EXTRA_CA_CERTS', 'UV_THREADPOOL_SIZE'])
  for (const page of ['README.md', ...docsPages.map((name) => `docs/${name}`)]) {
    for (const code of inlineCodes(page)) {
      const name = /^(?:\d{3} )?([A-Z]+(?:_[A-Z]+)+)$/.exec(code)?.[1]
      if (name !== undefined && !name.startsWith('MILLRACE_') && !others.has(name))
        t.ok(known.has(name), `${page}: ${name}`)
    }
  }
})

t.test('the README has 150 lines at most, and the index has every page', async (t) => {
  t.ok(read('README.md').split('\n').length <= 151)
  const index = read('docs/README.md')
  for (const name of docsPages.filter((name) => name !== 'README.md')) t.match(index, `](${name})`)
})
