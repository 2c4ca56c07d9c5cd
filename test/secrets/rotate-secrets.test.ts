import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openSecretStorage } from '../../src/secrets/open-secrets.ts'
import { rotateSecrets } from '../../src/secrets/rotate-secrets.ts'
import { sealedTextOf } from '../../src/secrets/sealed-records.ts'
import { contextOf } from '../../src/secrets/secret-box.ts'
import type { SecretBox } from '../../src/secrets/secret-box.types.ts'
import { createSecretKeyOfRandom, printKeys } from '../../src/secrets/secret-key.ts'
import { readKeyFile } from '../../src/secrets/secret-key-file.ts'
import { noDiskReports } from '../../src/shared/disk-fault.ts'
import type { RecordKind, RecordStorage } from '../../src/storage/storage.types.ts'
import { TestLog } from '../support/api/test-service.ts'
import { temporaryDirectory } from '../support/catalog/test-catalog.ts'
import { silentLogger } from '../support/store/test-store.ts'

const kinds: readonly RecordKind[] = ['variables', 'tokens', 'workspace']
const expected = kinds.flatMap((kind) => [`${kind}/a a of ${kind}`, `${kind}/b b of ${kind}`])

interface Place {
  readonly catalogPath: string
  readonly place: { readonly path: string; readonly isGiven: boolean }
}

async function openAt({ catalogPath, place }: Place, logger = new TestLog()) {
  const keyFile = await readKeyFile(place, logger)
  const secrets = await openSecretStorage(catalogPath, { keyFile, sealPlain: [], disk: noDiskReports, logger })
  return { ...secrets, logger }
}

/** A catalog with two secrets of each kind. */
async function createSecrets(t: Test): Promise<Place> {
  const directory = temporaryDirectory(t)
  const at = { catalogPath: join(directory, 'catalog.lmdb'), place: { path: join(directory, 'key'), isGiven: false } }
  const { storage, box, reportLost } = await openAt(at)
  for (const kind of kinds) {
    for (const key of ['a', 'b']) {
      const value = { format: 1, sealed: box.seal(`${key} of ${kind}`, contextOf(kind, key)) }
      await storage.commit([{ kind, key, value, version: null }])
    }
  }
  t.equal(await reportLost(), 0)
  await storage.close()
  return at
}

async function textsIn(storage: RecordStorage, box: SecretBox): Promise<readonly string[]> {
  const texts: string[] = []
  for (const kind of kinds) {
    for (const { key, value } of await storage.list(kind)) {
      const sealed = sealedTextOf(value)
      if (sealed !== null) texts.push(`${kind}/${key} ${box.open(sealed, contextOf(kind, key))}`)
    }
  }
  return texts
}

async function keyCount({ place }: Place): Promise<number | undefined> {
  return (await readKeyFile(place, silentLogger)).keys?.length
}

t.test('a rotation leaves one key, another one, and nothing that the old one opens', async (t) => {
  const at = await createSecrets(t)
  copyFileSync(at.place.path, `${at.place.path}-before`)
  const [oldKey] = (await readKeyFile(at.place, silentLogger)).keys ?? []
  const steps = rotateSecrets(at.catalogPath, { ...at, sealPlain: [], logger: silentLogger })
  for (let index = 0; index < 2; index += 1) t.notOk((await steps.next()).done)
  t.same(await steps.next(), { done: true, value: { sealedCount: 6, lostCount: 0 } })
  t.equal(await keyCount(at), 1)
  t.notOk(readFileSync(at.catalogPath).includes(`1.${oldKey?.id}.`))
  t.notOk(existsSync(`${at.place.path}.new`))
  const { storage, box, reportLost } = await openAt(at)
  t.not(box.keyId, oldKey?.id)
  t.same(await textsIn(storage, box), expected)
  t.equal(await reportLost(), 0)
  await storage.close()
  const before = await openAt({ ...at, place: { ...at.place, path: `${at.place.path}-before` } })
  t.match(await textsIn(before.storage, before.box), [/ null$/, / null$/, / null$/, / null$/, / null$/, / null$/])
  await before.storage.close()
})

t.test('a rotation may end behind each of its steps: all opens, and the next one ends it', async (t) => {
  for (const stepCount of [0, 1, 2]) {
    for (const repeatCount of [0, 1]) {
      const at = await createSecrets(t)
      const deps = { ...at, sealPlain: [], logger: silentLogger }
      // Cut again in the same place: the second time begins with what the first one left.
      for (let round = 0; round <= repeatCount; round += 1) {
        const cut = rotateSecrets(at.catalogPath, deps)
        for (let step = 0; step < stepCount; step += 1) await cut.next()
      }
      // What a crash in the middle of writing a file leaves beside it.
      writeFileSync(`${at.place.path}.new`, 'cut')
      writeFileSync(`${at.catalogPath}.new`, Buffer.alloc(5_000))
      const name = `${stepCount} steps`
      const middle = await openAt(at)
      const told = middle.logger.entries.map(({ level, fields }) => [level, fields['keyCount']])
      t.same(told, stepCount === 0 ? [] : [['warn', 2]], name)
      t.same(await textsIn(middle.storage, middle.box), expected, name)
      t.equal(await middle.reportLost(), 0, name)
      const value = { format: 1, sealed: middle.box.seal('between', contextOf('tokens', 'c')) }
      await middle.storage.commit([{ kind: 'tokens', key: 'c', value, version: null }])
      await middle.storage.close()
      t.equal(await keyCount(at), stepCount === 0 ? 1 : 2, name)
      for await (const _ of rotateSecrets(at.catalogPath, deps));
      t.equal(await keyCount(at), 1, name)
      const { storage, box } = await openAt(at)
      t.same((await textsIn(storage, box)).toSorted(), [...expected, 'tokens/c between'].toSorted(), name)
      await storage.close()
    }
  }
})

t.test('secrets of a key that is lost stay as they are, and are counted', async (t) => {
  const at = await createSecrets(t)
  const lost = readFileSync(at.place.path, 'utf8')
  writeFileSync(at.place.path, printKeys([createSecretKeyOfRandom()]))
  const steps = rotateSecrets(at.catalogPath, { ...at, sealPlain: [], logger: silentLogger })
  await steps.next()
  await steps.next()
  t.same((await steps.next()).value, { sealedCount: 0, lostCount: 6 })
  const { storage, logger, reportLost } = await openAt(at)
  t.equal(await reportLost(), 6)
  t.match(logger.entries, [{ level: 'error', fields: { lostCount: 6, variables: 2, tokens: 2, workspace: 2 } }])
  await storage.close()
  writeFileSync(at.place.path, readFileSync(at.place.path, 'utf8') + lost)
  const found = await openAt(at)
  t.same(await textsIn(found.storage, found.box), expected)
  t.equal(await found.reportLost(), 0)
  await found.storage.close()
})

t.test('a key that is missing, or cannot be replaced, is refused before anything is changed', async (t) => {
  const at = await createSecrets(t)
  const before = readFileSync(at.catalogPath)
  const missing = { path: `${at.place.path}-none`, isGiven: false }
  const deps = { sealPlain: [], logger: silentLogger }
  await t.rejects(rotateSecrets(at.catalogPath, { ...deps, place: missing }).next(), {
    code: 'ROTATION_REFUSED',
    message: /there is no such file/,
  })
  await t.rejects(rotateSecrets(at.catalogPath, { ...deps, place: { path: '/dev/null', isGiven: true } }).next(), {
    code: 'SECRET_KEY_UNUSABLE',
  })
  t.ok(readFileSync(at.catalogPath).equals(before))
})
