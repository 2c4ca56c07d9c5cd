import { writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { aggregateFunctionNames, scalarFunctionNames } from '../../../src/schema/functions/function-names.ts'
import { checkFunction } from '../../../src/schema/functions/function-policy.ts'
import { openEmbeddedStore } from '../../../src/store/embedded/embedded-store.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from '../../support/store/test-store.ts'

const directory = await createTestDirectory()
const store = await openEmbeddedStore(testStoreOptions(directory.path), silentLogger)
t.teardown(async () => {
  await store.close()
  await directory.remove()
})

interface EngineFunction {
  readonly name: string
  readonly isAggregate: number
}

const functions = await store.rows<EngineFunction>(
  `SELECT argMin(f.name, (f.alias_to != '', f.name = upper(f.name), f.name)) AS name, max(is_aggregate) AS isAggregate
    FROM system.functions AS f GROUP BY lower(f.name) ORDER BY lower(f.name)`,
)

function isRefused(name: string): boolean {
  try {
    checkFunction(name, () => true)
    return false
  } catch (thrown) {
    return thrown instanceof Error && thrown.message.endsWith('is not allowed')
  }
}

function lines(names: readonly string[]): string {
  let text = ''
  let line = ' '
  for (const name of names) {
    if (line.length + 1 + name.length > 118) {
      text += `${line}\n`
      line = ' '
    }
    line += ` ${name}`
  }
  return `${text}${line}`
}

t.test('the list of functions is that of the engine, without those that are refused', async (t) => {
  const allowed = functions.filter(({ name }) => !isRefused(name))
  const scalars = allowed.filter(({ isAggregate }) => isAggregate === 0).map(({ name }) => name)
  const aggregates = allowed.filter(({ isAggregate }) => isAggregate === 1).map(({ name }) => name)
  if (process.env['UPDATE_FIXTURES'] === '1') {
    const path = fileURLToPath(new URL('../../../../src/schema/functions/function-names.ts', import.meta.url))
    await writeFile(path, fileText(lines(scalars), lines(aggregates)))
  }
  t.same(scalarFunctionNames.trim().split(/\s+/), scalars)
  t.same(aggregateFunctionNames.trim().split(/\s+/), aggregates)
  t.ok(functions.length - allowed.length > 100, 'and there is something to refuse')
})

t.test('every combinator of the engine may stand behind an aggregate function', async (t) => {
  const combinators = await store.rows<{ name: string }>(
    'SELECT name FROM system.aggregate_function_combinators WHERE NOT is_internal',
  )
  for (const { name } of combinators) t.doesNotThrow(() => checkFunction(`sum${name}`, () => false), name)
  t.doesNotThrow(() => checkFunction('uniqStateIfOrNull', () => false))
  t.throws(() => checkFunction('fileIf', () => false), /not known/)
})

function fileText(scalars: string, aggregates: string): string {
  return `// Made out of the engine's own list, without what src/schema/functions/function-policy.ts refuses. After an upgrade of the engine look at
// what is new, then write this file again: UPDATE_FIXTURES=1 node dist/test/schema/functions/function-names.test.js

/** The functions of one value a row, as the engine writes them. */
export const scalarFunctionNames = \`
${scalars}
\`

/** The functions that aggregate, without their combinators. */
export const aggregateFunctionNames = \`
${aggregates}
\`
`
}
