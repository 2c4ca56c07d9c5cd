import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ImportLedger } from '../../../src/ingest/insert/import-ledger.ts'
import { type LedgerState, noCounts } from '../../../src/ingest/insert/import-ledger.types.ts'
import { openKeptParts } from '../../../src/ingest/insert/kept-parts.ts'
import { createTestDirectory, silentLogger } from '../../support/store/test-store.ts'

const counts = { ...noCounts, rows: 5, records: 5 }
const range = { start: 0, end: 10 }

async function open(t: Test) {
  const { path, remove } = await createTestDirectory()
  t.teardown(remove)
  let count = 0
  const newPartPath = (): string => {
    count += 1
    return join(path, `part-${count}`)
  }
  const reopen = async (prefixes: readonly string[]) => {
    const kept = await openKeptParts(join(path, 'kept'), new Set(prefixes), { newPartPath, logger: silentLogger })
    if (kept === null) throw new Error('this system does not tell its boots apart')
    return kept
  }
  const names = async (): Promise<readonly string[]> => {
    const [boot = ''] = await readdir(join(path, 'kept'))
    return (await readdir(join(path, 'kept', boot))).sort()
  }
  const kept = await reopen([])
  let state: LedgerState | null = null
  const ledgerOf = (from: LedgerState | null) =>
    new ImportLedger(from, {
      ...{ prefix: 'job-0', changes: { name: 'a', count: () => 0 }, now: () => 0, kept },
      async save(next) {
        state = structuredClone(next)
      },
      async sync() {},
      tableMark: async () => ({ blocks: 0, tables: 'a' }),
    })
  return { path, newPartPath, reopen, names, kept, ledgerOf, state: () => state }
}

t.test('parts are kept as long as their block is inserted, then a mark until that is noted', async (t) => {
  const { newPartPath, names, ledgerOf, state, kept } = await open(t)
  const path = newPartPath()
  await writeFile(path, 'ninebytes')
  const ledger = ledgerOf(null)
  const parts = [
    { part: { path, byteCount: 9 }, counts },
    { part: new Uint8Array(3), counts },
  ]
  const block = await ledger.rows.name([range, { start: 10, end: 20 }], 10, parts)
  t.same(await names(), ['job-0-r0.0', 'job-0-r0.1'])
  t.match(state()?.rows.named, [{ parts: [{ byteCount: 9, counts }, { byteCount: 3 }] }])
  const files = (await kept.partsOf(block)) ?? []
  t.same(
    files.map(({ byteCount }) => byteCount),
    [9, 3],
  )
  ledger.rows.noteStored(block, { ...counts, rows: 10 })
  while ((await names()).join() !== 'job-0-r0.stored') await new Promise(setImmediate)
  t.match(await kept.storedCounts('job-0-r0'), { rows: 10 })
  t.equal(await kept.partsOf(block), null)
  const left = ledgerOf(state()).rows.left
  t.match(left, [{ blockId: 'job-0-r0' }], 'who goes on finds it in doubt')
  await ledger.settle()
  t.same(await names(), [])
})

t.test('parts that are not as they were are not inserted', async (t) => {
  const { kept, ledgerOf } = await open(t)
  const block = await ledgerOf(null).rows.name([range], 5, [{ part: new Uint8Array(4), counts }])
  const [part] = block.parts ?? []
  t.equal(await kept.partsOf({ ...block, parts: [{ counts, ...part, byteCount: 5 }] }), null)
  t.equal(await kept.partsOf({ ...block, blockId: 'job-0-r7' }), null)
  t.equal((await kept.partsOf(block))?.length, 1)
})

t.test('what is of jobs that have ended, or of before the machine was booted, is removed at a start', async (t) => {
  const { path, reopen, names, ledgerOf } = await open(t)
  await ledgerOf(null).rows.name([range], 5, [{ part: new Uint8Array(4), counts }])
  await writeFile(join(path, 'kept', 'another-boot'), '')
  await reopen(['job'])
  t.same(await names(), ['job-0-r0.0'])
  t.equal((await readdir(join(path, 'kept'))).length, 1)
  const kept = await reopen(['another'])
  t.same(await names(), [])
  await ledgerOf(null).rows.name([range], 5, [{ part: new Uint8Array(4), counts }])
  await kept.forgetAll('job')
  t.same(await names(), [])
})
