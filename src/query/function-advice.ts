// What the author of a query may have meant where the engine refuses a function, or what it is handed.

import { writtenCase } from '../schema/functions/function-case.ts'
import type { CompiledQuery } from '../sql/compile-query.ts'
import { parseStatement } from '../sql/parse-statement.ts'

type Advised = Pick<CompiledQuery, 'sql' | 'ownColumns' | 'placeOf'>

/** Advice about the engine's message, for the author of the text; undefined when there is none. */
export function functionAdvice(message: string, plan: Advised): string | undefined {
  const [, unknown] = /^Function with name [`']?(\w+)[`']? does not exist/.exec(message) ?? []
  if (unknown !== undefined) return caseAdvice(unknown)
  if (/doesn't support FINAL/.test(message)) {
    return 'FINAL is for engines that merge rows of one key, such as ReplacingMergeTree; for the rows of a block, as a Materialized View sees them, it means nothing: leave it out'
  }
  if (/aggregate function with Merge suffix/.test(message)) {
    return 'Functions with -Merge take columns of states; over values, use the function without it'
  }
  const isState = /Illegal types? AggregateFunction\(/.test(message)
  const hiding = isState || isOfTypes.test(message) ? hidingAlias(plan, isState) : undefined
  if (hiding !== undefined) {
    return `In this query '${hiding}' is the expression that has it as its alias, and not the column: give the alias another name, or write the column with its Data Source, as in events.${hiding}`
  }
  return isState ? stateAdvice(message) : undefined
}

const isOfTypes = /^Illegal types?|no supertype|found inside another aggregate function/

function caseAdvice(name: string): string | undefined {
  const written = writtenCase(name)
  return written === undefined || written === name ? undefined : `Did you mean '${written}'?`
}

function stateAdvice(message: string): string {
  const [, state = ''] = /AggregateFunction\((?:\d+, )?(\w+)/.exec(message) ?? []
  const [, asked] = /aggregate function (\w+)/.exec(message) ?? []
  const merge = `${state}Merge(…)`
  if (asked === undefined) return `The column has states of ${state}(): finalizeAggregation(…) gives the value of each`
  return `The column has states of ${state}(): ${merge} gives their value, ${state}MergeState(…) their state for a Data Source that keeps states`
}

/** A column of the author's tables that his query has as the alias of something else. */
function hidingAlias({ sql, ownColumns, placeOf }: Advised, isState: boolean): string | undefined {
  const parsed = parseStatement(sql)
  if (parsed === null) return undefined
  const { scopes, tokens } = parsed
  const columns = new Set(ownColumns())
  for (const { aliases } of scopes) {
    for (const [name, { start, end }] of aliases) {
      const first = tokens[start]
      if (first === undefined || !columns.has(name)) continue
      // A column by its own name, with or without its table.
      const isColumn = tokens.slice(start, end).every(({ kind, key }) => kind !== 'symbol' || key === '.')
      const isOfState = tokens.slice(start, end).some(({ key }) => key.endsWith('STATE'))
      if (isColumn || (isState && !isOfState)) continue
      if (placeOf(Buffer.byteLength(sql.slice(0, first.offset))).source === null) return name
    }
  }
  return undefined
}
