import type { Token } from './token.types.ts'

/**
 * What the parser found in one text of SQL. There is no tree: a query is rewritten by its tokens, so all that is kept is
 * where in them names stand and by what they are seen. Indexes are those of tokens; an `end` is the one after the last.
 */
export interface ParsedQuery {
  readonly tokens: readonly Token[]
  /** The end of the query without FORMAT, and without the SETTINGS of the whole. */
  readonly bodyEnd: number
  /** The end of the query with its SETTINGS, without FORMAT and what stands behind that. */
  readonly queryEnd: number
  /** The name after FORMAT as it was written, or null. */
  readonly format: string | null
  readonly settings: readonly SettingUse[]
  readonly scopes: readonly QueryScope[]
  /** In the order of the text. */
  readonly reads: readonly TableRead[]
  readonly calls: readonly FunctionUse[]
  readonly tableFunctions: readonly TableFunctionUse[]
  /** Names of columns and aliases, and asterisks; no parameters of lambdas. */
  readonly names: readonly TokenRange[]
  /** What stands behind LIKE, ILIKE and REGEXP. */
  readonly patterns: readonly TokenRange[]
  /** Asterisks and COLUMNS with what is done to their columns. */
  readonly stars: readonly StarUse[]
  /** The brackets of windows: of OVER, and of WINDOW. */
  readonly windows: readonly number[]
  /**
   * By a name that is given to an expression anywhere in the text, the index of the string that it is; null when it is
   * anything else, or several things.
   */
  readonly constants: ReadonlyMap<string, number | null>
}

/** What gives several columns. */
export interface StarUse extends TokenRange {
  /** Of `t.*`. */
  readonly isQualified: boolean
  /** What stands behind each APPLY. */
  readonly applied: readonly TokenRange[]
}

/** What one SELECT, or the SELECTs of one UNION together, can name; the range is that of its text. */
export interface QueryScope {
  readonly start: number
  end: number
  /** The index of the scope around it; -1 when nothing outside is seen. */
  readonly parent: number
  /** The common table whose body it is, which it does not see unless that is recursive. */
  readonly definition: CommonTable | null
  readonly commonTables: CommonTable[]
  /** Names of expressions. */
  readonly aliases: Map<string, NamedExpression>
  /** What SELECT gives, in order. */
  readonly columns: SelectedColumn[]
  /** What stands behind FROM and JOIN, in order. */
  readonly tables: ScopeTable[]
  /** With its keyword. */
  prewhere: TokenRange | null
  /** With its keyword. */
  where: TokenRange | null
}

/** What stands at one place behind FROM or JOIN. */
export interface ScopeTable {
  /** The index of the scope of a subquery; -1 for anything else. */
  readonly query: number
  /** What the query calls it: its alias, else the last part of its name; null for what has no name. */
  alias: string | null
}

/** An expression that got a name, without it. */
export interface NamedExpression extends TokenRange {
  readonly isLambda: boolean
}

/** One expression behind SELECT; its alias, if it has one, is in the range. */
export interface SelectedColumn extends TokenRange {
  /** What AS calls it, or the column that it is; null for an expression without a name. */
  readonly name: string | null
}

/** A name that WITH gives to a query. */
export interface CommonTable {
  readonly name: string
  readonly isRecursive: boolean
}

export interface TokenRange {
  readonly start: number
  readonly end: number
}

/** A place where a table can be read. */
export interface TableRead {
  /**
   * - `table`: behind FROM or JOIN.
   * - `in`: behind IN, or as the second argument of a function like it, where a column's name may stand as well.
   * - `joinGet`: the first argument of that function.
   */
  readonly kind: 'table' | 'in' | 'joinGet'
  readonly start: number
  readonly end: number
  /** The parts of the name as written, without quotes; null for a `joinGet` whose name is no constant. */
  readonly parts: readonly string[] | null
  /** The index of the scope that it stands in. */
  readonly scope: number
  readonly hasAlias: boolean
  /** What the query calls it: its alias, else the last part of its name; null for what is not of kind `table`. */
  readonly alias: string | null
  /** FINAL and SAMPLE with what belongs to them; empty when there are none. */
  readonly modifiers: TokenRange
}

/** A function that is called, or handed to another by its name. */
export interface FunctionUse {
  /** With dots, when it was written so. */
  readonly name: string
  readonly scope: number
  readonly isCalled: boolean
  /** The first token of its name. */
  readonly start: number
  /** In order, without aliases; those of `CAST(x AS T)` are `x` alone. Empty for a name that is handed over. */
  readonly arguments: readonly TokenRange[]
  /** What stands in the brackets before the arguments, as in `quantile(0.5)(x)`. */
  readonly parameters: readonly TokenRange[]
}

export interface TableFunctionUse extends TokenRange {
  readonly name: string
  /** Where it stands. */
  readonly scope: number
  /** In order, without aliases; empty when they are a query. */
  readonly arguments: readonly TokenRange[]
  /** The index of the scope of that query; null for arguments. */
  readonly query: number | null
}

export interface SettingUse {
  readonly name: string
  /** As it was written: a number, a string in its quotes, or a word. */
  readonly value: string
  /** True for the settings of the whole query. */
  readonly isOuter: boolean
}
