import t from 'tap'
import type { DataSourceId } from '../../src/catalog/data-source.types.ts'
import { TableSizes } from '../../src/datasources/table-sizes.ts'
import { StoreError } from '../../src/store/store-error.ts'
import type { TableState } from '../../src/store/tables.types.ts'
import { checked } from '../support/checked-text.ts'

const limits = { queryTimeMaxMs: 10_000, queryMemoryBytesMax: 1_000_000, resultBytesMax: 1_000_000 }
const one = checked<DataSourceId>('t_1')
const two = checked<DataSourceId>('t_2')

function createSizes(tables: Readonly<Record<string, TableState>>) {
  const asked: (readonly string[] | undefined)[] = []
  const state = { failure: null as Error | null }
  const list = async (names?: readonly string[]) => {
    asked.push(names)
    if (state.failure !== null) throw state.failure
    return new Map(Object.entries(tables))
  }
  return { sizes: new TableSizes({ list }, limits), asked, state }
}

const rows = (rowCount: number): TableState => ({ rowCount, byteCount: rowCount * 10, uuid: '' })
const none = { rowCount: 0, byteCount: 0 }

t.test('rows of a data source and of its quarantine are told apart; a table that is not there has none', async (t) => {
  const { sizes, asked } = createSizes({ t_1: rows(3), t_1_quarantine: rows(1), t_2: rows(2) })
  t.same(await sizes.of(one), { landing: rows(3), quarantine: rows(1) })
  t.same(await sizes.of(two), { landing: rows(2), quarantine: none })
  t.same(asked, [
    ['t_1', 't_1_quarantine'],
    ['t_2', 't_2_quarantine'],
  ])
})

t.test(
  'sizes of all are asked for twice at most by those who ask at once, and tell of what was made meanwhile',
  async (t) => {
    const { sizes, asked } = createSizes({ t_1: rows(3), t_2: rows(2) })
    const ids = [one]
    const answers = Promise.all([0, 1, 2, 3].map(() => sizes.ofAll(() => ids)))
    ids.push(two)
    for (const answer of await answers) t.same([...answer.keys()], [one, two])
    t.same(asked, [undefined, undefined])
  },
)

t.test('a store that is busy is told as an error of the request, and asked again the next time', async (t) => {
  const { sizes, state } = createSizes({ t_1: rows(3) })
  state.failure = new StoreError({ kind: 'busy', message: 'too many statements wait' })
  const failed = await sizes.ofAll(() => [one]).catch((thrown: unknown) => thrown)
  t.match(failed, { status: 503 })
  t.match(await sizes.of(one).catch((thrown: unknown) => thrown), { status: 503 })
  state.failure = null
  t.same([...(await sizes.ofAll(() => [one])).values()], [{ landing: rows(3), quarantine: none }])
})
