import type { ColumnDefinition } from '../../schema/columns/column-definition.types.ts'
import type { CheckedQuery } from '../../schema/expressions/checked-text.types.ts'
import { valueTypeOf } from '../../schema/types/column-type.ts'
import { quoteName, quoteString } from '../../shared/text-escapes.ts'
import { repeated } from '../repeated.ts'
import type { Statements } from '../statements.types.ts'
import type { Reads, SelectQuery } from '../store.types.ts'
import { StoreError } from '../store-error.ts'
import type { DefinitionNature, DescribedColumn, Trials, TriedCondition } from '../tables.types.ts'
import { qualified } from './qualified.ts'

/** `Trials` by statements that every adapter of the store can run. */
export class TrialStatements implements Trials {
  readonly #statements: Pick<Statements, 'command'>
  readonly #reads: Pick<Reads, 'select'>

  constructor(statements: Pick<Statements, 'command'>, reads: Pick<Reads, 'select'>) {
    this.#statements = statements
    this.#reads = reads
  }

  async insertBlankRow(
    table: string,
    columns: readonly ColumnDefinition[],
    nature: DefinitionNature = {},
  ): Promise<void> {
    await this.#statements.command(blankRowInsert(qualified(table), columns), nature)
  }

  async judgeCondition(tried: TriedCondition): Promise<void> {
    await this.#read(`SELECT count() FROM (${noRows(tried)}) WHERE ${tried.condition}`)
  }

  async computeCondition(tried: TriedCondition): Promise<void> {
    const values = tried.columns.map(quoteName).map((column) => `any(${column}) AS ${column}`)
    const blank = `SELECT ${values.join(', ')} FROM (${noRows(tried)})`
    await this.#read(`SELECT ${tried.condition} FROM (${blank})`, allOfIt)
  }

  async describe(query: CheckedQuery): Promise<readonly DescribedColumn[]> {
    // A query that is checked, and whose end no comment of its own hides.
    return await this.#describe(`view(${query}\n)`)
  }

  async takesStates(given: string, column: string): Promise<boolean> {
    try {
      await this.#describe(
        `view(SELECT CAST(defaultValueOfTypeName(${quoteString(given)}), ${quoteString(column)}) AS c)`,
      )
      return true
    } catch (thrown) {
      if (thrown instanceof StoreError && thrown.clickhouseCode === cannotConvertCode) return false
      throw thrown
    }
  }

  async #describe(table: string): Promise<readonly DescribedColumn[]> {
    // Nobody waits for it who could leave: it ends by the time limit of queries.
    const { signal } = new AbortController()
    const sql = `DESCRIBE TABLE ${table}` as CheckedQuery
    const settings = { describe_compact_output: 1 }
    const text = await repeated(async () => {
      const chunks: Uint8Array[] = []
      for await (const chunk of await this.#reads.select({ sql, format: 'JSONEachRow', settings, signal })) {
        chunks.push(chunk)
      }
      return Buffer.concat(chunks).toString()
    })
    const lines = text.split('\n')
    return lines.filter((line) => line !== '').map(readColumn)
  }

  async #read(sql: string, settings: SelectQuery['settings'] = {}): Promise<void> {
    const { signal } = new AbortController()
    // Written above, around conditions that are checked.
    const query: SelectQuery = { sql: sql as CheckedQuery, format: 'TSV', settings, signal }
    await repeated(async () => {
      for await (const _ of await this.#reads.select(query));
    })
  }
}

/** CANNOT_CONVERT_TYPE */
const cannotConvertCode = 70

function readColumn(line: string): DescribedColumn {
  // DESCRIBE gives these.
  const { name, type } = JSON.parse(line) as { readonly name: string; readonly type: string }
  return { name, typeText: type }
}

/** A part behind AND would not be computed where the one before it is false. */
const allOfIt = { short_circuit_function_evaluation: 'disable' }

/** There is nothing else that the names of the condition could be. */
function noRows({ table, columns }: TriedCondition): string {
  return `SELECT ${columns.map(quoteName).join(', ')} FROM ${qualified(table)} WHERE 0`
}

/** An INSERT of one row: every column without a DEFAULT has the first value of its type; the others are left to it. */
export function blankRowInsert(qualifiedTable: string, columns: readonly ColumnDefinition[]): string {
  const sent = columns.filter(({ type }) => valueTypeOf(type).kind !== 'aggregateFunction')
  const bare = sent.filter(({ defaultExpression }) => defaultExpression === null)
  const given = bare.length > 0 ? bare : sent
  const names = given.map(({ name }) => quoteName(name)).join(', ')
  const values = given.map(({ typeText }) => `materialize(defaultValueOfTypeName(${quoteString(typeText)}))`)
  return `INSERT INTO ${qualifiedTable} (${names}) SELECT ${values.join(', ')} SETTINGS async_insert = 0`
}
