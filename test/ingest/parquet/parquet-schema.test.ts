import t from 'tap'
import { type ParquetLeaf, readSchema } from '../../../src/ingest/parquet/parquet-schema.ts'
import { CompactReader, varint } from '../../../src/ingest/parquet/thrift-compact.ts'
import { inTimeSlices } from '../../../src/shared/time-slices.ts'

interface Element {
  readonly name: string
  readonly children?: number
  readonly isRepeated?: boolean
}

/** A list of elements as a file has it. */
function listOf(elements: readonly Element[]): CompactReader {
  const pieces = elements.map(({ name, children, isRepeated = false }) =>
    Buffer.concat([
      Uint8Array.of(0x35, isRepeated ? 4 : 2, 0x18, name.length),
      Buffer.from(name),
      children === undefined ? Buffer.alloc(0) : Buffer.concat([Uint8Array.of(0x15), zigzag(children)]),
      Uint8Array.of(0),
    ]),
  )
  return new CompactReader(Buffer.concat([Uint8Array.of(0xfc), varint(elements.length), ...pieces]))
}

async function leavesOf(elements: readonly Element[]): Promise<readonly ParquetLeaf[]> {
  const { leaves } = await inTimeSlices(readSchema(listOf(elements)))
  return leaves
}

function zigzag(value: number): Uint8Array {
  return varint(value < 0 ? -2 * value - 1 : 2 * value)
}

t.test('leaves are told by their paths, and those of lists have any number of values', async (t) => {
  const elements = [
    { name: 'root', children: 3 },
    { name: 'n' },
    { name: 'tags', children: 1 },
    { name: 'list', children: 1, isRepeated: true },
    { name: 'element' },
    { name: 'group', children: 1 },
    { name: 'k' },
  ]
  t.same(await leavesOf(elements), [
    { name: 'n', isRepeated: false },
    { name: 'tags.list.element', isRepeated: true },
    { name: 'group.k', isRepeated: false },
  ])
})

t.test('what is no tree is refused, however many children it says it has', async (t) => {
  const other = { message: /its schema has a group of another size than it says/ }
  for (const children of [2, 3, 2 ** 31 - 1, -1]) {
    await t.rejects(leavesOf([{ name: 'root', children }, { name: 'n' }]), other, String(children))
  }
  const outside = [{ name: 'root', children: 1 }, { name: 'n' }, { name: 'm' }]
  await t.rejects(leavesOf(outside), { message: /outside of its root/ })
  const deep = Array.from({ length: 200 }, (_, depth) => ({ name: `g${depth}`, children: 1 }))
  await t.rejects(leavesOf([...deep, { name: 'n' }]), { message: /nested too deep/ })
})
