import t from 'tap'
import {
  checkDirectory,
  directoryBytesMax,
  endOfDirectory,
  isBesideFile,
} from '../../../src/ingest/unpack/zip-central-directory.ts'

function entryOf(name: string, { extra = 0, comment = 0 } = {}): Buffer {
  const fixed = Buffer.alloc(46)
  fixed.write('PK\u0001\u0002', 0, 'latin1')
  fixed.writeUInt16LE(Buffer.byteLength(name), 28)
  fixed.writeUInt16LE(extra, 30)
  fixed.writeUInt16LE(comment, 32)
  return Buffer.concat([fixed, Buffer.from(name), Buffer.alloc(extra + comment, 'x')])
}

/** A directory and its end, with a comment behind it. */
function tailOf(entries: readonly Buffer[], comment = ''): Buffer {
  const directory = Buffer.concat(entries)
  const end = Buffer.alloc(22)
  end.write('PK\u0005\u0006', 0, 'latin1')
  end.writeUInt32LE(directory.length, 12)
  end.writeUInt16LE(comment.length, 20)
  return Buffer.concat([Buffer.from('packed bytes'), directory, end, Buffer.from(comment)])
}

t.test('one file is taken, with folders and what macOS puts beside it', (t) => {
  const beside = ['folder/', '__MACOSX/._a.csv', 'folder/.DS_Store', '.DS_Store'].map((name) => entryOf(name))
  for (const entries of [[entryOf('a.csv')], [...beside, entryOf('folder/a.csv')], [], beside]) {
    t.doesNotThrow(() => checkDirectory(tailOf(entries)))
  }
  t.doesNotThrow(() => checkDirectory(tailOf([entryOf('a.csv')], 'a comment of the archive')))
  t.end()
})

t.test('several files are refused by their names, behind extra fields and comments too', (t) => {
  const entries = [
    entryOf('folder/'),
    entryOf('a.csv', { extra: 9, comment: 5 }),
    entryOf('.DS_Store'),
    entryOf('é.csv'),
  ]
  const message = /has more than one file, "a.csv" and "é.csv"; send each by itself$/
  t.throws(() => checkDirectory(tailOf(entries)), { code: 'ARCHIVE_UNSUPPORTED', status: 400, message })
  t.end()
})

t.test('an archive that is cut before its end has no directory', (t) => {
  const tail = tailOf([entryOf('a.csv')])
  t.equal(endOfDirectory(tail), tail.length - 22)
  for (let cut = 0; cut < tail.length; cut += 1) {
    t.throws(() => checkDirectory(tail.subarray(0, cut)), { code: 'BODY_CORRUPT', status: 400 }, `cut at ${cut}`)
  }
  t.end()
})

t.test('a directory that begins before the bytes that are there is left to whoever reads the members', (t) => {
  const tail = tailOf([entryOf('a.csv'), entryOf('b.csv')])
  t.doesNotThrow(() => checkDirectory(tail.subarray(13)), 'its first bytes are missing')
  const wrong = Buffer.from(tail)
  wrong.writeUInt32LE(0xffffffff, tail.length - 10)
  t.doesNotThrow(() => checkDirectory(wrong), 'its size is wrong')
  t.ok(directoryBytesMax >= 1_000 * (46 + 1_000), 'a thousand members with names of a thousand bytes')
  t.end()
})

t.test('only folders and the files of macOS lie beside a file', (t) => {
  for (const name of ['a/', 'a/b/', '__MACOSX/x', '.DS_Store', 'a/.DS_Store']) t.ok(isBesideFile(name), name)
  for (const name of ['a', 'a/b', 'x__MACOSX/x', 'a.DS_Store', '.DS_Store.csv', '']) t.notOk(isBesideFile(name), name)
  t.end()
})
