import t from 'tap'
import { formatBytes } from '../../src/shared/bytes.ts'
import { createImportId, createRequestId, createResourceHex } from '../../src/shared/ids.ts'

t.test('a request id is a ULID that begins with its time', async (t) => {
  const id = createRequestId(1_469_918_176_385)
  t.match(id, /^[0-9A-HJKMNP-TV-Z]{26}$/)
  // The example of the ULID specification.
  t.equal(id.slice(0, 10), '01ARYZ6S41')
  t.equal(createRequestId(0).slice(0, 10), '0000000000')
  t.equal(createRequestId(2 ** 48 - 1).slice(0, 10), '7ZZZZZZZZZ')
})

t.test('request ids sort by time', async (t) => {
  const ids = [1, 31, 32, 1_023, 1_024, 1_767_225_600_000, 1_767_225_600_001].map(createRequestId)
  t.same([...ids].sort(), ids)
})

t.test('no id comes twice', async (t) => {
  const ids = Array.from({ length: 1_000 }, () => [createRequestId(0), createImportId(), createResourceHex()]).flat()
  t.equal(new Set(ids).size, 3_000)
})

t.test('an import id is a UUID of version 4, and a resource has 32 hex digits', async (t) => {
  t.match(createImportId(), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  t.match(createResourceHex(), /^[0-9a-f]{32}$/)
})

t.test('a size is written in the largest unit that needs no rounding', async (t) => {
  t.equal(formatBytes(0), '0 bytes')
  t.equal(formatBytes(1_023), '1023 bytes')
  t.equal(formatBytes(1_024), '1 KiB')
  t.equal(formatBytes(1_025), '1025 bytes')
  t.equal(formatBytes(10_000_000), '10000000 bytes')
  t.equal(formatBytes(131_072), '128 KiB')
  t.equal(formatBytes(16_777_216), '16 MiB')
  t.equal(formatBytes(34_359_738_368), '32 GiB')
})
