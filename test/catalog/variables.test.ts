import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Variables } from '../../src/catalog/variable.types.ts'
import { openVariables, variableBytesMax, variableKinds, variablesMax } from '../../src/catalog/variables.ts'
import { openLmdbStorage } from '../../src/storage/lmdb-storage.ts'
import { loadRecords } from '../../src/storage/loaded-records.ts'
import { testBox } from '../support/secrets.ts'
import { emptyRecords, MemoryStorage } from '../support/storage/memory-storage.ts'

const box = testBox()
const editedBy = "token: 'admin'"

t.test('variables are kept, and their values come back after a restart', async (t) => {
  const path = join(temporaryDirectory(t), 'catalog.lmdb')
  let nowMs = 1_000
  const storage = await openLmdbStorage(path)
  const variables = openVariables({ now: () => nowMs, box }, await loadRecords(storage, variableKinds))
  t.equal(variables.version, 0)
  await variables.create('second', { value: "it's\n☕", editedBy })
  await variables.create('first', { value: '', editedBy })
  nowMs = 2_000
  await variables.update('second', { value: 'new', editedBy: "token: 'other'" })
  await variables.create('third', { value: 'x', editedBy })
  await variables.remove('third')
  t.equal(variables.version, 5, 'every change is another version')
  const expected = [
    { name: 'first', type: 'secret', createdAt: 1_000, updatedAt: 1_000, editedBy },
    { name: 'second', type: 'secret', createdAt: 1_000, updatedAt: 2_000, editedBy: "token: 'other'" },
  ]
  const check = (read: Variables) => {
    t.same(read.list(), expected)
    t.same([read.secretOf('second'), read.secretOf('first'), read.secretOf('third')], ['new', '', undefined])
    t.notMatch(JSON.stringify([read.list(), read.find('second')]), 'new')
  }
  check(variables)
  await variables.close()
  await storage.close()

  const again = await openLmdbStorage(path)
  t.teardown(() => again.close())
  check(openVariables({ now: () => 0, box }, await loadRecords(again, variableKinds)))
  t.same(await again.list('data_sources'), [], 'they are no data sources')
  t.equal(statSync(path).mode & 0o777, 0o600)
  const bytes = readFileSync(path)
  t.ok(bytes.includes('"secret"'), 'the file holds them')
  for (const value of ["it's", 'new', '☕']) t.notOk(bytes.includes(value), 'but not their values')
})

t.test('names and values have limits, and a workspace has room for 100', async (t) => {
  const { variables, writes } = openInMemory()
  for (const name of ['', '1a', 'a-b', 'a b', 'é', '__proto__x'.repeat(30), 'a\n']) {
    await t.rejects(variables.create(name, { value: 'x', editedBy }), { code: 'NAME_INVALID', status: 400 }, name)
  }
  await variables.create('a'.repeat(255), { value: 'é'.repeat(variableBytesMax / 2), editedBy })
  await t.rejects(variables.create('long', { value: `a${'é'.repeat(variableBytesMax / 2)}`, editedBy }), {
    code: 'VALUE_TOO_LARGE',
  })
  await t.rejects(variables.update('a'.repeat(255), { value: 'x'.repeat(variableBytesMax + 1), editedBy }), {
    code: 'VALUE_TOO_LARGE',
  })
  for (const name of ['constructor', '__proto__']) {
    t.equal(variables.secretOf(name), undefined)
    await variables.create(name, { value: 'v', editedBy })
    t.equal(variables.secretOf(name), 'v')
  }
  await t.rejects(variables.create('constructor', { value: 'v', editedBy }), { code: 'VARIABLE_EXISTS', status: 409 })
  for (let count = variables.list().length; count < variablesMax; count += 1) {
    await variables.create(`v${count}`, { value: 'x', editedBy })
  }
  const before = writes.length
  await t.rejects(variables.create('more', { value: 'x', editedBy }), { code: 'VARIABLES_TOO_MANY', status: 400 })
  t.equal(writes.length, before, 'what is refused is not written')
  await variables.remove('constructor')
  await variables.create('more', { value: 'x', editedBy })
  t.equal(variables.list().length, variablesMax)
})

t.test('changes come one after the other, and show when they are on disk', async (t) => {
  const { variables, writes, release } = openInMemory({ isHeld: true })
  const made = variables.create('a', { value: '1', editedBy })
  const twice = variables.create('a', { value: '2', editedBy })
  const changed = variables.update('a', { value: '3', editedBy })
  const gone = variables.remove('missing')
  const refused = t.rejects(twice, { code: 'VARIABLE_EXISTS' })
  const unknown = t.rejects(gone, { code: 'VARIABLE_NOT_FOUND', status: 404 })
  while (writes.length === 0) await new Promise(setImmediate)
  t.equal(variables.secretOf('a'), undefined, 'it is not on disk yet')
  t.equal(variables.version, 0)
  release()
  await made
  t.equal(variables.secretOf('a'), '1')
  await Promise.all([refused, changed, unknown])
  t.equal(variables.secretOf('a'), '3')

  const waiting = Array.from({ length: 100 }, (_, count) => variables.update('a', { value: `${count}`, editedBy }))
  await t.rejects(variables.update('a', { value: 'late', editedBy }), { code: 'CHANGES_TOO_MANY', status: 503 })
  await variables.close()
  await Promise.all(waiting)
  t.equal(variables.secretOf('a'), '99')
})

t.test('a change that the disk refuses changes nothing', async (t) => {
  const storage = new MemoryStorage()
  storage.failure = new Error('disk full')
  const variables = openVariables({ now: () => 0, box }, emptyRecords(storage))
  await t.rejects(variables.create('a', { value: '1', editedBy }), { message: 'disk full' })
  t.same([variables.find('a'), variables.version], [undefined, 0])
  await variables.close()
})

t.test('a record that is none of this release is not read', async (t) => {
  for (const record of [null, {}, { format: 1 }, { format: 2, type: 'secret', createdAt: 0, updatedAt: 0, editedBy }]) {
    const storage = new MemoryStorage()
    await storage.commit([{ kind: 'variables', key: 'a', value: record ?? 'none', version: null }])
    const records = await loadRecords(storage, variableKinds)
    t.throws(() => openVariables({ now: () => 0, box }, records), { name: 'CatalogRecordError', message: /variable a/ })
  }
})

t.test('a value whose key is missing is told as that, and can be written anew or removed', async (t) => {
  const storage = new MemoryStorage()
  const before = openVariables({ now: () => 1, box }, emptyRecords(storage))
  await before.create('a', { value: 'hunter2', editedBy })
  await before.create('b', { value: 'hunter3', editedBy })
  const variables = openVariables({ now: () => 2, box: testBox() }, await loadRecords(storage, variableKinds))
  t.match(variables.list(), [{ name: 'a', createdAt: 1 }, { name: 'b' }])
  t.throws(() => variables.secretOf('a'), { code: 'SECRET_UNREADABLE', status: 503, message: /^The secret 'a' / })
  t.equal(variables.secretOf('c'), undefined)
  await variables.update('a', { value: 'new', editedBy })
  t.equal(variables.secretOf('a'), 'new')
  await variables.remove('b')
  t.equal(variables.secretOf('b'), undefined)
})

t.test('the value of one variable does not open as that of another', async (t) => {
  const storage = new MemoryStorage()
  await openVariables({ now: () => 1, box }, emptyRecords(storage)).create('a', { value: 'x', editedBy })
  const value = (await storage.get('variables', 'a'))?.value
  await storage.commit([{ kind: 'variables', key: 'b', value, version: null }])
  const variables = openVariables({ now: () => 1, box }, await loadRecords(storage, variableKinds))
  t.equal(variables.secretOf('a'), 'x')
  t.throws(() => variables.secretOf('b'), { code: 'SECRET_UNREADABLE' })
})

function openInMemory({ isHeld = false } = {}) {
  const storage = new MemoryStorage()
  let release = () => {}
  if (isHeld) {
    storage.held = new Promise<void>((resolve) => {
      release = resolve
    })
  }
  const variables = openVariables({ now: () => 0, box }, emptyRecords(storage))
  return { variables, writes: storage.writtenKeys, release: () => release() }
}

function temporaryDirectory(t: Test): string {
  const path = mkdtempSync(join(tmpdir(), 'millrace-variables-'))
  t.teardown(() => rmSync(path, { recursive: true }))
  return path
}
