// Texts that are written into a datafile, read out of it and written again give the same file, however often, and whether or not
// the reader takes off what the lines of a block are indented by.

import t from 'tap'
import { createNodeId, createPipeId } from '../../src/catalog/pipe-id.ts'
import { formatPipe } from '../../src/catalog/pipe-text.ts'
import { formatDatafile } from '../../src/schema/definitions/datafile-text.ts'
import { readDataSourceFile, readPipeFile } from '../support/api/datafiles.ts'
import { dataSource } from '../support/catalog/test-catalog.ts'
import { SeededRandom, testSeed } from '../support/seeded-random.ts'
import { byTier } from '../support/tier.ts'

const cycles = 10
const seed = testSeed()
const readers = { 'one that takes margins off': undefined, 'one that leaves them': asItStands }

function asItStands(lines: readonly string[]): string {
  return lines.join('\n')
}

function pipeOf(description: string, nodeDescription: string, sql: string) {
  const times = { createdAt: 1, updatedAt: 1 }
  const node = {
    id: createNodeId(),
    name: 'n',
    description: nodeDescription,
    sql,
    dependencies: [],
    version: 0,
    ...times,
  }
  return { id: createPipeId(), name: 'p', description, nodes: [node], endpointId: node.id, parentId: null, ...times }
}

const pieces = [
  ...[
    'a',
    'SELECT 1',
    ' ',
    '  ',
    '    ',
    '\t',
    '\n',
    '\n\n',
    '\n    ',
    '\n\t',
    '\n  ',
    ' \n',
    '\r\n',
    "'x'",
    '"y"',
    '`z`',
  ],
  ...['> quoted', '\n> quoted', '\nNODE x', '\nSQL >', '\nTYPE endpoint', '%', '{% if a %}', "{{String(x, 'y')}}"],
  ...['é€', '\u00a0', '\u2003', '\u2028', '\ud83d\ude00', '-- c', "-- don't\n", '/* c */', '{# c #}', '\\', ',', '#'],
] as const

/** What only a reader that takes margins off leaves as it is, as literals go on over line ends. */
const openPieces = ["'", '"', '`', '$$', "'a\n    b'", '`a\n  b`', "'\\'\n "] as const

function randomText(random: SeededRandom, hasOpen: boolean): string {
  let text = ''
  for (let count = random.below(12); count > 0; count -= 1) {
    text += hasOpen && random.below(5) === 0 ? random.pick(openPieces) : random.pick(pieces)
  }
  return text
}

t.test(`a pipe is the same file in each cycle (SEED=${seed})`, async (t) => {
  const random = new SeededRandom(seed)
  for (const [kind, read] of Object.entries(readers)) {
    for (let round = 0; round < byTier({ quick: 2_000, full: 8_000, soak: 200_000 }); round += 1) {
      const sql = randomText(random, read === undefined)
      const first = formatPipe(pipeOf(randomText(random, true), randomText(random, true), sql))
      let text = first
      for (let cycle = 0; cycle < cycles && text === first; cycle += 1) {
        const { description, nodes } = readPipeFile(text, read)
        text = formatPipe(pipeOf(description, nodes[0]?.description ?? '', nodes[0]?.sql ?? ''))
      }
      if (text !== first) t.equal(text, first, `${kind}, ${JSON.stringify(sql)}`)
    }
    t.pass(kind)
  }
})

t.test(`a data source is the same file in each cycle (SEED=${seed})`, async (t) => {
  const random = new SeededRandom(seed)
  for (const [kind, read] of Object.entries(readers)) {
    for (let round = 0; round < byTier({ quick: 2_000, full: 8_000, soak: 200_000 }); round += 1) {
      const source = dataSource('d')
      const first = formatDatafile({ ...source, description: randomText(random, true) })
      let text = first
      for (let cycle = 0; cycle < cycles && text === first; cycle += 1) {
        text = formatDatafile({ ...source, description: readDataSourceFile(text, read)['description'] ?? '' })
      }
      if (text !== first) t.equal(text, first, kind)
    }
    t.pass(kind)
  }
})

t.test('a query keeps its literals, and what its lines are indented by beside each other', async (t) => {
  const queries = [
    ['    SELECT a,\n        b\n    FROM c', 'SELECT a,\n    b\nFROM c'],
    ['\n\tSELECT a\n\n\tFROM c\n', 'SELECT a\n\nFROM c'],
    ['SELECT a\n    FROM c', 'SELECT a\n    FROM c'],
    ["  SELECT 'a\n    b'\n  FROM c", "SELECT 'a\n    b'\n  FROM c"],
    ["  -- don't\n  SELECT 'a'", "-- don't\nSELECT 'a'"],
    ['  SELECT $$a\n    b$$', 'SELECT $$a\n    b$$'],
    ["  {# don't #}\n  SELECT 'x\n   y'", "{# don't #}\n  SELECT 'x\n   y'"],
  ] as const
  for (const [sql, kept] of queries) {
    t.equal(readPipeFile(formatPipe(pipeOf('', '', sql))).nodes[0]?.sql, kept, JSON.stringify(sql))
  }
})
