/** Random NDJSON for a schema: mostly records that it accepts, in the order of its columns. */
import { Buffer } from 'node:buffer'
import type { ColumnDefinition } from '../../../../src/schema/columns/column-definition.types.ts'
import type { ColumnType } from '../../../../src/schema/types/column-type.types.ts'
import { canBeAbsent, pathOf } from './random-schema.ts'
import { quoteRandomly, randomBlanks, randomText } from './random-texts.ts'
import { anyValue, randomValue } from './random-values.ts'
import { jsonOf } from './spelling.ts'
import type { TestRandom } from './test-random.ts'

/** A member of the record: columns that take its value, and the members below it. */
interface Branch {
  readonly columns: ColumnDefinition[]
  readonly below: Map<string, Branch>
}

interface Mood {
  /** Of values that are of any kind. */
  readonly wrongPercent: number
  readonly blankPercent: number
  readonly isShuffled: boolean
}

/** The lines of a body, each without its line end; some are no records at all. */
export function randomLines(
  random: TestRandom,
  columns: readonly ColumnDefinition[],
  count: number,
): readonly Buffer[] {
  const tree = treeOf(columns)
  const putBytes = random.chance(20) ? [...asciiBytes, ...oddBytes] : asciiBytes
  return Array.from({ length: count }, () => {
    const line = Buffer.from(randomLine(random, tree))
    return random.chance(4) ? mutated(random, line, putBytes) : line
  })
}

/** The lines as a body: with both line ends, blank lines, and at times without the last line end. */
export function joinLines(random: TestRandom, lines: readonly Buffer[]): Buffer {
  const crlfPercent = random.pick([0, 0, 2, 100])
  const pieces: Buffer[] = []
  for (const line of lines) {
    if (random.chance(2)) pieces.push(Buffer.from(random.pick(['\n', ' \n', '\r\n', '\t \r \n'])))
    pieces.push(line, Buffer.from(random.chance(crlfPercent) ? '\r\n' : '\n'))
  }
  return Buffer.concat(pieces)
}

function treeOf(columns: readonly ColumnDefinition[]): Branch {
  const root: Branch = { columns: [], below: new Map() }
  for (const column of columns) {
    let branch = root
    for (const key of pathOf(column).keys) {
      const next = branch.below.get(key) ?? { columns: [], below: new Map() }
      branch.below.set(key, next)
      branch = next
    }
    branch.columns.push(column)
  }
  return root
}

function randomLine(random: TestRandom, tree: Branch): string {
  if (random.chance(1)) return random.pick(notRecords)
  const mood = {
    wrongPercent: random.chance(75) ? 0 : 6,
    blankPercent: random.chance(15) ? 30 : 0,
    isShuffled: random.chance(15),
  }
  return randomBlanks(random, 2) + randomObject(random, tree, mood) + randomBlanks(random, 3)
}

function randomObject(random: TestRandom, { below }: Branch, mood: Mood): string {
  const blanks = () => randomBlanks(random, mood.blankPercent)
  const members: string[] = []
  const add = (key: string, value: string) =>
    members.push(`${blanks()}${key}${blanks()}:${blanks()}${value}${blanks()}`)
  for (const [key, branch] of below) {
    if (isLeftOut(random, branch, mood)) continue
    add(keyText(random, key), branchValue(random, branch, mood))
    if (random.chance(0.3)) add(keyText(random, key), branchValue(random, branch, mood))
    if (random.chance(2)) add(quoteRandomly(random, randomText(random, 5)), jsonOf(random, anyValue(random)))
  }
  return `{${(mood.isShuffled ? random.shuffled(members) : members).join(',') || blanks()}}`
}

function keyText(random: TestRandom, key: string): string {
  if (random.chance(98.5)) return JSON.stringify(key)
  // Without escapes a key with a quote in it makes no JSON, and one with a backslash another key.
  return random.chance(60) ? quoteRandomly(random, key) : `"${key}"`
}

function isLeftOut(random: TestRandom, branch: Branch, mood: Mood): boolean {
  if (branch.columns.some((column) => column.type.kind === 'aggregateFunction')) return random.chance(95)
  const canMiss = [...allColumns(branch)].every(canBeAbsent)
  return random.chance(canMiss ? 12 : mood.wrongPercent / 2)
}

function* allColumns(branch: Branch): Generator<ColumnDefinition> {
  yield* branch.columns
  for (const deeper of branch.below.values()) yield* allColumns(deeper)
}

function branchValue(random: TestRandom, branch: Branch, mood: Mood): string {
  const [column] = branch.columns
  if (branch.below.size > 0 && (column === undefined || random.chance(50))) {
    return random.chance(mood.wrongPercent / 2) ? jsonOf(random, anyValue(random)) : randomObject(random, branch, mood)
  }
  if (column === undefined || random.chance(mood.wrongPercent)) return jsonOf(random, anyValue(random))
  if (canBeAbsent(column) && random.chance(6)) return 'null'
  const { element } = pathOf(column)
  if (element === null || element.length === 0) return jsonOf(random, randomValue(random, column.type))
  return elementsValue(random, branch.columns)
}

/** An array of objects that hold a value for each column that looks into them. */
function elementsValue(random: TestRandom, columns: readonly ColumnDefinition[]): string {
  const items = Array.from({ length: random.below(4) }, () => {
    if (random.chance(2)) return jsonOf(random, anyValue(random))
    const members = columns.map((column) => {
      const value = jsonOf(random, randomValue(random, elementTypeOf(column.type)))
      const [first = '', second] = pathOf(column).element ?? []
      return `${JSON.stringify(first)}:${second === undefined ? value : `{${JSON.stringify(second)}:${value}}`}`
    })
    return `{${members.join(', ')}}`
  })
  return `[${items.join(',')}]`
}

function elementTypeOf(type: ColumnType): ColumnType {
  if (type.kind === 'simpleAggregateFunction') return elementTypeOf(type.inner)
  return type.kind === 'array' ? type.element : { kind: 'string' }
}

const notRecords = [
  'null',
  '[]',
  '"text"',
  '1',
  '{',
  '}',
  '{}}',
  '{} {}',
  '{"a":1,}',
  "{'a':1}",
  '{"a" 1}',
  '{a:1}',
  '{"a":01}',
  '{"a":1e}',
  '{"a":+1}',
  '{"a":.5}',
  '{"a":NaN}',
  '{"a":"\t"}',
  '{"a":tru}',
  '{"a"b":1}',
  '\ufeff{}',
  '\v{}',
  '\u00a0{}',
] as const

const asciiBytes = [...'\u0000\n\r ",-.0\\[]{}:n'].map((character) => character.charCodeAt(0))
const oddBytes = [0x80, 0xbf, 0xc3, 0xe2, 0xff]

/** The line with one to three bytes cut out, put in or changed. */
function mutated(random: TestRandom, line: Buffer, putBytes: readonly number[]): Buffer {
  const bytes = [...line]
  for (let round = random.between(1, 3); round > 0; round -= 1) {
    const at = random.below(bytes.length + 1)
    const byte = putBytes[random.below(putBytes.length)] ?? 0
    switch (random.below(4)) {
      case 0:
        bytes.length = at
        break
      case 1:
        bytes.splice(at, random.between(1, 3))
        break
      case 2:
        bytes.splice(at, 0, byte)
        break
      default:
        bytes.splice(at, 1, byte)
    }
  }
  return Buffer.from(bytes)
}
