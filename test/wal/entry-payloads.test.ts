import t from 'tap'
import {
  type Barrier,
  bookkeepingEntry,
  decodeBarrier,
  decodeBlockName,
  decodeLost,
  decodeNotes,
  decodeStored,
  encodeBarrier,
  encodeBlockName,
  encodeLost,
  encodeNotes,
  encodeStored,
  type Note,
} from '../../src/wal/entry-payloads.ts'
import { toSequence } from '../../src/wal/sequence.ts'
import { WalFormatError } from '../../src/wal/wal-errors.ts'
import { SeededRandom, testSeed } from '../support/seeded-random.ts'

const bytes = (hex: string) => Buffer.from(hex.replaceAll(' ', ''), 'hex')
const note: Note = { key: bytes('00ff'), expiresAtMs: 2 ** 41, status: 202, rowCount: 5, quarantinedRowCount: 300 }

/** Each payload as it stands on the disk: these bytes must be read for ever. */
const stored: readonly {
  readonly name: string
  readonly bytes: Buffer
  readonly encoded: Uint8Array
  readonly decode: (payload: Uint8Array) => unknown
  readonly value: unknown
}[] = [
  {
    name: 'blockName',
    bytes: bytes('02 6231 03 ac02 01 808001 02 01 04'),
    encoded: encodeBlockName({
      blockId: 'b1',
      sequences: [300, 301, 16_685].map(toSequence),
      setAside: [0, 4],
      beyond: [],
    }),
    decode: decodeBlockName,
    value: { blockId: 'b1', sequences: [300, 301, 16_685], setAside: [0, 4], beyond: [], costly: [], untried: [] },
  },
  {
    name: 'stored',
    bytes: bytes('02 c3a9 7f 00'),
    encoded: encodeStored({ blockId: 'é', last: null, rowCount: 127, quarantinedRowCount: 0 }),
    decode: decodeStored,
    value: { blockId: 'é', last: null, rowCount: 127, quarantinedRowCount: 0 },
  },
  {
    name: 'barrier',
    bytes: bytes('ffffffffffffff0f 01'),
    encoded: encodeBarrier({ generation: Number.MAX_SAFE_INTEGER, isFinal: true }),
    decode: decodeBarrier,
    value: { generation: Number.MAX_SAFE_INTEGER, isFinal: true } satisfies Barrier,
  },
  {
    name: 'notes',
    bytes: bytes('01 02 00ff 808080808040 ca01 05 ac02'),
    encoded: encodeNotes([note]),
    decode: decodeNotes,
    value: [{ ...note, key: Uint8Array.of(0, 255) }],
  },
  {
    name: 'lost',
    bytes: bytes('07'),
    encoded: encodeLost(7),
    decode: (payload) => decodeLost({ payload, sequence: toSequence(9) }),
    value: { first: 7, last: 9 },
  },
]

for (const { name, bytes, encoded, decode, value } of stored) {
  t.test(`a payload of ${name} has these bytes, is read back, and is refused when it is cut or has more`, async (t) => {
    t.equal(Buffer.from(encoded).toString('hex'), bytes.toString('hex'))
    t.same(decode(bytes), value)
    for (let cut = 0; cut < bytes.length; cut += 1) {
      t.throws(() => decode(bytes.subarray(0, cut)), WalFormatError, `cut at byte ${cut}`)
    }
    t.throws(() => decode(Buffer.concat([bytes, Buffer.alloc(1)])), WalFormatError)
  })
}

t.test('the name of a block tells the records of too many partitions, since format 2', async (t) => {
  const value = { blockId: 'b1', sequences: [toSequence(300)], setAside: [], beyond: [0, 4], costly: [], untried: [] }
  const payload = bytes('02 6231 01 ac02 00 02 01 04')
  t.equal(Buffer.from(encodeBlockName(value)).toString('hex'), payload.toString('hex'))
  t.same(decodeBlockName(payload), value)
  t.throws(() => decodeBlockName(payload.subarray(0, -1)), WalFormatError)
  t.throws(() => decodeBlockName(Buffer.concat([payload, Buffer.alloc(1)])), WalFormatError)
})

t.test(
  'the name of a block tells which of the records set aside took too much, and which were not tried',
  async (t) => {
    const value = {
      blockId: 'b1',
      sequences: [toSequence(300)],
      setAside: [0, 4, 5],
      beyond: [],
      costly: [4],
      untried: [5],
    }
    const payload = bytes('02 6231 01 ac02 03 01 04 01 00 01 05 01 06')
    t.equal(Buffer.from(encodeBlockName(value)).toString('hex'), payload.toString('hex'))
    t.same(decodeBlockName(payload), value)
    const shorter = { ...value, untried: [] }
    t.same(decodeBlockName(encodeBlockName(shorter)), shorter)
    t.throws(() => decodeBlockName(Buffer.concat([payload, Buffer.alloc(1)])), WalFormatError)
  },
)

t.test('what is stored tells its last entry, since format 2', async (t) => {
  const value = { blockId: 'é', last: toSequence(300), rowCount: 127, quarantinedRowCount: 0 }
  const payload = bytes('02 c3a9 7f 00 ac02')
  t.equal(Buffer.from(encodeStored(value)).toString('hex'), payload.toString('hex'))
  t.same(decodeStored(payload), value)
  t.throws(() => decodeStored(payload.subarray(0, -1)), WalFormatError)
  t.throws(() => decodeStored(Buffer.concat([payload, Buffer.alloc(1)])), WalFormatError)
})

t.test('values that cannot be meant are refused', async (t) => {
  t.throws(() => decodeBlockName(bytes('01 62 00 00')), /has no entries/)
  t.throws(() => decodeBlockName(bytes('01 62 02 05 00')), /has an entry or a record twice/)
  t.throws(() => decodeBarrier(bytes('01 02')), /0 or 1/)
  t.throws(() => decodeBarrier(bytes('ffffffffffffffff0f 00')), /over 2\^53/)
  t.throws(() => encodeBlockName({ blockId: 'b', sequences: [], setAside: [], beyond: [] }), { name: 'InvariantError' })
  t.throws(() => encodeBlockName({ blockId: 'b', sequences: [2, 2].map(toSequence), setAside: [], beyond: [] }), {
    name: 'InvariantError',
  })
  t.throws(() => encodeNotes([{ ...note, key: Buffer.alloc(256) }]), { name: 'InvariantError' })
  for (const value of [0, -1, 1.5, 2 ** 53]) t.throws(() => toSequence(value), { name: 'InvariantError' })
})

t.test('any name of a block and any notes come back as they were', async (t) => {
  const seed = testSeed()
  t.comment(`SEED=${seed}`)
  const random = new SeededRandom(seed)
  for (let round = 0; round < 200; round += 1) {
    let sequence = 0
    const sequences = Array.from({ length: 1 + random.below(300) }, () => {
      sequence += 1 + random.below(2 ** random.below(40))
      return toSequence(sequence)
    })
    const block = {
      blockId: 'x'.repeat(random.below(256)),
      sequences,
      setAside: sequences.map((sequence) => sequence - 1),
      beyond: random.below(2) === 0 ? [] : sequences.map((sequence) => sequence + 1),
    }
    t.strictSame(decodeBlockName(encodeBlockName(block)), { ...block, costly: [], untried: [] })
    const notes = Array.from({ length: random.below(20) }, () => ({
      key: Uint8Array.from({ length: random.below(256) }, () => random.below(256)),
      expiresAtMs: random.below(2 ** 45),
      status: random.below(600),
      rowCount: random.below(2 ** 32),
      quarantinedRowCount: random.below(2 ** 32),
    }))
    t.strictSame(decodeNotes(encodeNotes(notes)), notes)
  }
})

t.test('a bookkeeping entry carries no rows', async (t) => {
  const payload = encodeBarrier({ generation: 1, isFinal: false })
  t.same(bookkeepingEntry({ kind: 'barrier', stream: 't_1', atMs: 17, payload }), {
    kind: 'barrier',
    stream: 't_1',
    version: 0,
    encoding: 'identity',
    flags: 0,
    acceptedAtMs: 17,
    rowCount: 0,
    quarantinedRowCount: 0,
    payload,
  })
})
