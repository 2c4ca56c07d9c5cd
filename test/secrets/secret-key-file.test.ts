import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createSecretKeyOfRandom, printKeys } from '../../src/secrets/secret-key.ts'
import { keyPlaceOf, readKeyFile, writeKeyFile } from '../../src/secrets/secret-key-file.ts'
import { TestLog } from '../support/api/test-service.ts'
import { temporaryDirectory } from '../support/catalog/test-catalog.ts'
import { silentLogger } from '../support/store/test-store.ts'

const key = createSecretKeyOfRandom()

t.test('the key is in the data directory, or where the option says', async (t) => {
  t.same(keyPlaceOf({ dataDir: '/data', secretKeyFile: '' }), { path: '/data/secret-key', isGiven: false })
  t.same(keyPlaceOf({ dataDir: '/data', secretKeyFile: '/etc/key' }), { path: '/etc/key', isGiven: true })
})

t.test('what is written is read again, and is for its owner alone', async (t) => {
  const place = { path: join(temporaryDirectory(t), 'secret-key'), isGiven: false }
  t.same(await readKeyFile(place, silentLogger), { place, keys: null })
  writeFileSync(`${place.path}.new`, 'left by a crash')
  await writeKeyFile(place, [key])
  t.equal((await readKeyFile(place, silentLogger)).keys?.[0].id, key.id)
  t.equal(statSync(place.path).mode & 0o777, 0o600)
  t.same(readdirSync(join(place.path, '..')), ['secret-key'])
})

t.test('a link is followed, and stays', async (t) => {
  const directory = temporaryDirectory(t)
  const place = { path: join(directory, 'link'), isGiven: true }
  await writeKeyFile({ path: join(directory, 'key'), isGiven: true }, [createSecretKeyOfRandom()])
  symlinkSync(join(directory, 'key'), place.path)
  await writeKeyFile(place, [key])
  t.equal(readFileSync(join(directory, 'key'), 'utf8'), printKeys([key]))
  t.equal((await readKeyFile(place, silentLogger)).keys?.[0].id, key.id)
})

t.test('a file that is none of keys refuses the start, and its content is not repeated', async (t) => {
  const directory = temporaryDirectory(t)
  const path = join(directory, 'secret-key')
  const text = printKeys([key])
  for (const wrong of ['', 'hunter2\n', text.slice(2), `${text}x`, text.repeat(17), 'a'.repeat(100_000)]) {
    writeFileSync(path, wrong, { mode: 0o600 })
    for (const isGiven of [false, true]) {
      const message = `the secret key file ${path} cannot be used: it must have 1 to 16 lines of 44 characters, each 32 bytes in base64; put back the file that stood there`
      await t.rejects(readKeyFile({ path, isGiven }, silentLogger), { code: 'SECRET_KEY_UNUSABLE', message })
    }
  }
  mkdirSync(join(directory, 'folder'))
  await t.rejects(readKeyFile({ path: join(directory, 'folder'), isGiven: false }, silentLogger), {
    code: 'SECRET_KEY_UNUSABLE',
    message: /it is not a file/,
  })
})

t.test(
  'a file that others may read is closed to them when it is ours, and refused when it is the operator’s',
  async (t) => {
    const path = join(temporaryDirectory(t), 'secret-key')
    await writeKeyFile({ path, isGiven: true }, [key])
    for (const mode of [0o640, 0o604, 0o622, 0o644]) {
      chmodSync(path, mode)
      await t.rejects(readKeyFile({ path, isGiven: true }, silentLogger), {
        code: 'SECRET_KEY_UNUSABLE',
        message: new RegExp(`may read it \\(mode ${mode.toString(8)}\\); run chmod 600`),
      })
      const log = new TestLog()
      t.equal((await readKeyFile({ path, isGiven: false }, log)).keys?.[0].id, key.id)
      t.equal(statSync(path).mode & 0o777, mode & 0o700)
      t.match(log.entries, [{ level: 'warn', fields: { path, mode: mode.toString(8) } }])
    }
  },
)

t.test('the operator’s file must exist', async (t) => {
  const path = join(temporaryDirectory(t), 'key')
  await t.rejects(readKeyFile({ path, isGiven: true }, silentLogger), {
    code: 'SECRET_KEY_MISSING',
    message: new RegExp(`${path} of --secret-key-file does not exist; .*openssl rand -base64 32`),
  })
})
