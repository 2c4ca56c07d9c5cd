import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { crc32 } from 'node:zlib'
import t from 'tap'
import { currentFormat, raiseFormat, readFormat } from '../../src/directory/format.ts'
import { openService } from '../../src/service.ts'
import { raiseCheckpoint } from '../../src/wal/checkpoint.ts'
import { diskFileLayer } from '../../src/wal/file-layer.ts'
import { openTestService, testOptions } from '../support/api/test-service.ts'
import { repositoryRoot } from '../support/repository-root.ts'
import { createTestDirectory, silentLogger } from '../support/store/test-store.ts'

const run = promisify(execFile)

const directory = await createTestDirectory()
t.teardown(() => directory.remove())

/** A directory as a version wrote it that knew no format file, killed right after it had acknowledged events. */
async function unpackOldDirectory(name: string, format = 1): Promise<string> {
  const path = join(directory.path, name)
  await mkdir(path)
  const archive = join(repositoryRoot, `fixtures/directories/format-${format}.tar.gz`)
  await run('tar', ['-xzf', archive, '--no-same-owner', '-C', path])
  return path
}

async function checkpointVersionIn(dataDir: string): Promise<number> {
  return (await readFile(join(dataDir, 'wal', 'checkpoint'))).readUInt32LE(8)
}

/** Every file below, with its bytes. */
async function filesIn(path: string): Promise<ReadonlyMap<string, string>> {
  const files = new Map<string, string>()
  for (const entry of await readdir(path, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const file = join(entry.parentPath, entry.name)
    files.set(file, (await readFile(file)).toString('latin1'))
  }
  return files
}

async function failureOf(work: Promise<unknown>): Promise<unknown> {
  try {
    await work
  } catch (thrown) {
    return thrown
  }
  throw new Error('it did not fail')
}

t.test('a directory of a version without the format file opens with all of its content', async (t) => {
  const dataDir = await unpackOldDirectory('old')
  t.equal(await checkpointVersionIn(dataDir), 1)
  t.equal(await readFormat(dataDir), 1)
  const service = await openTestService(t, { dataDir, adminToken: 'p.test.token' })
  await service.untilStored('visits')
  t.same(await service.rows('SELECT ts, page, ms, who FROM visits ORDER BY ts'), [
    ['2026-01-01 10:00:00.120', '/', '31', '\\N'],
    ['2026-03-01 00:00:00.000', '/late', '0', 'w0'],
    ['2026-03-02 00:00:00.000', '/late', '1', 'w1'],
    ['2026-03-03 00:00:00.000', '/late', '2', 'w2'],
    ['2026-03-04 00:00:00.000', '/late', '3', 'w3'],
    ['2026-03-05 00:00:00.000', '/late', '4', 'w4'],
  ])
  t.equal(await service.count('visits_quarantine'), 6)
  t.same(await service.rows('SELECT * FROM prices ORDER BY sku'), [
    ['a', '1.5', "['x','y']", '\\N'],
    ['b', '2.25', '[]', 'hello'],
  ])
  t.same(await service.rows('SELECT * FROM guessed'), [['1', 'x', '[1,2]']])
  const pipe = await service.call('GET', '/v0/pipes/by_page.csv?least=3')
  t.equal(pipe.text, '"page","n","total"\n"/",1,31\n"/late",2,7\n')
  t.match((await service.call('GET', '/v0/variables')).json, { variables: [{ name: 'secret' }] })
  await service.close()
  t.equal(await readFormat(dataDir), currentFormat)
  t.equal(await checkpointVersionIn(dataDir), 2, 'which versions without the format file refuse')
})

// Written by the last version of format 2: blocks whose rows are stored and whose quarantine is not, events that wait behind
// them, and two replays: one stored its rows and did not come to note it, one noted what does not fit and stored nothing.
t.test(
  'what an older version sealed and half stored is read by the rules of then, and later events by those of now',
  async (t) => {
    const dataDir = await unpackOldDirectory('half-stored', 2)
    t.equal(await readFormat(dataDir), 2)
    const service = await openTestService(t, { dataDir, adminToken: 'p.test.token' })
    await service.untilStored('times')
    const sent = '{"d":"2024","n":31}\n{"d":"2024-1-5","n":32}\n{"level":"2","n":33}\n{"t":"20240115","n":34}\n'
    t.same((await service.events('times', sent, { wait: 'true' })).json, { successful_rows: 3, quarantined_rows: 1 })
    t.same(await service.rows('SELECT n, d, t, level FROM times ORDER BY n'), [
      ['1', '2024-01-15', '2024-01-15 10:00:00', 'low'],
      ['11', '1975-07-18', '1970-08-23 06:15:15', '\\N'],
      ['21', '1975-07-18', '\\N', '\\N'],
      ['23', '\\N', '2024-01-16 10:00:00', '\\N'],
      ['32', '2024-01-05', '\\N', '\\N'],
      ['33', '\\N', '\\N', '1'],
      ['34', '\\N', '2024-01-15 00:00:00', '\\N'],
    ])
    const aside = await service.rows('SELECT n, coalesce(d, t, level) FROM times_quarantine ORDER BY n')
    t.same(aside, [
      ['12', '2024-1-5'],
      ['13', '2024-01-15 10:00:00 UTC'],
      ['14', '2'],
      ['15', 'noon'],
      ['16', '2024/01/15'],
      ['22', '2024-1-5'],
      ['31', '2024'],
    ])
    for (const name of ['again', 'after']) {
      await service.log.until('An interrupted replay is ended.', ({ dataSource }) => dataSource === name)
    }
    t.same(await service.rows('SELECT n, t FROM after ORDER BY n'), [
      ['1', '1970-01-01 00:33:44'],
      ['2', '1970-08-23 06:15:15'],
    ])
    t.equal(await service.count('after_quarantine'), 0)
    t.same(await service.rows('SELECT n, t FROM again ORDER BY n'), [
      ['1', '1970-01-01 00:33:44'],
      ['2', '1970-08-23 06:15:15'],
      ['4', '2024-01-15 10:00:00'],
    ])
    t.same(await service.rows('SELECT n, t FROM again_quarantine ORDER BY n'), [
      ['x3', '2024-1-5'],
      ['x5', 'noon'],
    ])
    const body = JSON.stringify({ fixes: { n: "replaceAll(n, 'x', '')" } })
    const replayed = await service.call('POST', '/v0/datasources/again/quarantine/replay', { body })
    t.match(replayed.json, { replayed_rows: 1, failed_rows: 1 })
    t.same(await service.rows('SELECT t FROM again WHERE n = 3'), [['2024-01-05 00:00:00']])
    await service.close()
    t.equal(await readFormat(dataDir), currentFormat)
  },
)

t.test('the checkpoint refuses old versions before anything else of the new format can be on disk', async (t) => {
  const dataDir = await unpackOldDirectory('raised')
  const before = await readFile(join(dataDir, 'wal', 'checkpoint'))
  const seen: string[] = []
  const step = {
    to: 2,
    run: async () => {
      seen.push(`format ${await readFormat(dataDir)}`)
      await raiseCheckpoint(diskFileLayer, join(dataDir, 'wal'))
    },
  }
  await raiseFormat(dataDir, await readFormat(dataDir), [step])
  t.same(seen, ['format 1'], 'the number is written last, so a crash in between repeats the step')
  const raised = await readFile(join(dataDir, 'wal', 'checkpoint'))
  t.equal(raised.readUInt32LE(8), 2)
  t.ok(raised.subarray(12, -4).equals(before.subarray(12, -4)), 'nothing else in it changes')
  await raiseFormat(dataDir, await readFormat(dataDir), [step])
  t.equal(seen.length, 1, 'a current directory needs no step')
})

t.test('a directory of a newer version is refused with both numbers, and nothing in it is touched', async (t) => {
  const dataDir = join(directory.path, 'newer')
  await mkdir(dataDir)
  await writeFile(join(dataDir, 'format'), 'millrace data directory, format 9000\n')
  const failure = await failureOf(openService(testOptions({ dataDir }), silentLogger))
  const message = new RegExp(`${dataDir} has format 9000, and this release reads formats up to ${currentFormat}; start`)
  t.match(failure, { code: 'FORMAT_NEWER', message })
  t.same(await readdir(dataDir), ['format'])
  await writeFile(join(dataDir, 'format'), `millrace data directory, format ${currentFormat + 1}\n`)
  t.match(await failureOf(readFormat(dataDir)), { message: new RegExp(`has format ${currentFormat + 1}`) })
})

t.test('a checkpoint of a newer version is refused too, and nothing in the directory changes', async (t) => {
  const dataDir = await unpackOldDirectory('newer-checkpoint')
  const path = join(dataDir, 'wal', 'checkpoint')
  const content = await readFile(path)
  content.writeUInt32LE(3, 8)
  content.writeUInt32LE(crc32(content.subarray(0, -4)), content.length - 4)
  await writeFile(path, content)
  const before = await filesIn(join(dataDir, 'wal'))
  const failure = await failureOf(openService(testOptions({ dataDir }), silentLogger))
  t.match(failure, {
    code: 'LOG_FORMAT_UNKNOWN',
    message: /checkpoint .* is of format 3, and this version reads formats 1 to 2/,
  })
  t.same(await filesIn(join(dataDir, 'wal')), before)
  t.equal(await readFormat(dataDir), 1)
})

t.test('a format file that holds no format is refused, and its text shown', async (t) => {
  const dataDir = join(directory.path, 'odd')
  await mkdir(dataDir)
  const texts = ['', '2', 'format 2', 'millrace data directory, format 0', 'millrace data directory, format -1']
  for (const text of [...texts, 'millrace data directory, format 2 3', '\u0000'.repeat(4096)]) {
    await writeFile(join(dataDir, 'format'), text)
    const failure = await failureOf(readFormat(dataDir))
    const message = /it holds ".*", where "millrace data directory, format \d+" stands/
    t.match(failure, { code: 'FORMAT_UNREADABLE', message }, JSON.stringify(text.slice(0, 50)))
  }
  await rm(join(dataDir, 'format'))
  await mkdir(join(dataDir, 'format'))
  t.match(await failureOf(readFormat(dataDir)), { code: 'FORMAT_UNREADABLE', message: /EISDIR/ })
})

t.test('the first start of a new directory writes the number, and the next one leaves it', async (t) => {
  const dataDir = join(directory.path, 'fresh')
  const first = await openTestService(t, { dataDir })
  await first.close()
  t.equal(await readFile(join(dataDir, 'format'), 'utf8'), `millrace data directory, format ${currentFormat}\n`)
  t.equal(await checkpointVersionIn(dataDir), 2)
  const second = await openTestService(t, { dataDir })
  await second.close()
  t.equal(await readFormat(dataDir), currentFormat)
})
