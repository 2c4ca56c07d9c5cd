// What a query may not do, as far as single tokens show it. A safety net of two lists: table functions are allowed by
// name, scalar functions are refused by name. Underneath, the store runs the query as a restricted reader; neither
// replaces the other, because that reader does not stop the scalar `file`, nor INTO OUTFILE.

import { errors } from '../shared/errors.ts'
import { syntaxError } from './lexer.ts'
import type { Token } from './token.types.ts'

/** Table functions without an input from outside the query. */
const allowedTableFunctions: ReadonlySet<string> = new Set(
  'numbers numbers_mt generateSeries generate_series generateRandom primes values null view'
    .split(' ')
    .map((name) => name.toLowerCase()),
)

/** Tables of the engine that say nothing about it. */
export const allowedSystemTables: ReadonlySet<string> = new Set(['system.one', 'system.numbers'])

// Functions that read files, secrets or other tables, speak to the network, name users and hosts, wait, or log.
const refusedFunctions: ReadonlySet<string> = new Set(
  `file filesystemAvailable filesystemCapacity filesystemUnreserved catboostEvaluate hasColumnInTable getSetting
   getSettingOrDefault getServerSetting getMergeTreeSetting getClientHTTPHeader currentUser user authenticatedUser
   current_user currentRoles enabledRoles defaultRoles currentProfiles enabledProfiles defaultProfiles hostName fqdn
   serverUUID getServerPort displayName getOSKernelVersion getMacro buildId shardNum shardCount initialQueryID
   initial_query_id queryID query_id connectionId connection_id sleep sleepEachRow logTrace eval fuzzQuery
   addressToLine addressToLineWithInlines addressToSymbol demangle showCertificate structureToCapnProtoSchema
   structureToProtobufSchema tcpPort zookeeperSessionUptime isMergeTreePartCoveredBy transactionID
   transactionLatestSnapshot transactionOldestSnapshot url remote s3 executable mysql postgresql`
    .split(/\s+/)
    .map((name) => name.toLowerCase()),
)
const refusedFamilies = /^(?:dict(?:Get|Has|Is)|ai[A-Z]|__)/

// Of these, the ones that do harm when they are handed to `arrayMap` or APPLY by name; the others take no argument, and
// are common names of columns (`user`, `query_id`).
const refusedByName: ReadonlySet<string> = new Set(
  `file catboostEvaluate hasColumnInTable getSetting getServerSetting getMergeTreeSetting getClientHTTPHeader getMacro
   sleep sleepEachRow logTrace eval addressToLine addressToSymbol showCertificate`
    .split(/\s+/)
    .map((name) => name.toLowerCase()),
)

/** True for a scalar function that no query may call, by any spelling of its case. */
function isRefusedFunction(name: string): boolean {
  return refusedFunctions.has(name.toLowerCase()) || refusedFamilies.test(name)
}

/** @throws SQL_INVALID (400) for a table function that is not on the list. */
export function checkTableFunction(name: string): void {
  if (!allowedTableFunctions.has(name.toLowerCase())) {
    throw errors.SQL_INVALID({ reason: `Table function '${name}' is not allowed` })
  }
}

/**
 * Refuses statements, clauses and functions that a query may not contain.
 *
 * @throws SQL_INVALID (400).
 */
export function checkTokens(sql: string, tokens: readonly Token[]): void {
  checkStatement(sql, tokens)
  checkParts(tokens)
}

/**
 * Refuses what neither a query nor a part of one may contain.
 *
 * @throws SQL_INVALID (400).
 */
export function checkParts(tokens: readonly Token[]): void {
  for (const [index, token] of tokens.entries()) {
    if (token.text === ';') throw errors.SQL_INVALID({ reason: 'Multi-statements are not allowed' })
    if (token.kind === 'word') checkClause(tokens, index)
    if (token.kind === 'word' || token.kind === 'quotedName') checkFunction(tokens, index, token.name)
  }
}

function checkStatement(sql: string, tokens: readonly Token[]): void {
  const first = tokens.find(({ text }) => text !== '(')
  if (first !== undefined && isWordOf(first, 'SELECT', 'WITH', 'FROM')) return
  const near = sql.slice(first?.offset ?? 0).slice(0, 40)
  throw errors.SQL_INVALID({ reason: `Syntax error near "${near}": only SELECT statements are supported` })
}

function checkClause(tokens: readonly Token[], index: number): void {
  const [token, next, afterNext] = tokens.slice(index, index + 3)
  if (token === undefined || next === undefined || isNamePart(tokens, index)) return
  const isBeforeName = next.kind === 'word' || next.kind === 'quotedName'
  if (isWordOf(token, 'INTO') && (isBeforeName || next.kind === 'string')) {
    const words = isWordOf(next, 'OUTFILE') ? 'INTO OUTFILE' : 'INTO'
    throw errors.SQL_INVALID({ reason: `${words} is not allowed` })
  }
  if (isWordOf(token, 'SETTINGS') && isBeforeName && afterNext?.text === '=') {
    throw errors.SQL_INVALID({ reason: `Setting '${next.name}' is not allowed: a query can not set settings` })
  }
  if (isWordOf(token, 'PARALLEL') && isWordOf(next, 'WITH')) {
    throw errors.SQL_INVALID({ reason: 'PARALLEL WITH is not allowed' })
  }
  if (isWordOf(token, 'EXPLAIN') && tokens[index - 1]?.text === '(' && isBeforeName) {
    throw errors.SQL_INVALID({ reason: 'EXPLAIN is not allowed in a subquery' })
  }
}

function checkFunction(tokens: readonly Token[], index: number, name: string): void {
  if (!isRefusedFunction(name)) return
  const isCalled = tokens[index + 1]?.text === '('
  const isHarmfulByName = refusedByName.has(name.toLowerCase()) || refusedFamilies.test(name)
  if (isCalled || (isHarmfulByName && isPassedAsFunction(tokens, index))) {
    throw errors.SQL_INVALID({ reason: `Function '${name}' is not allowed` })
  }
}

/** `arrayMap(file, …)`, `* APPLY(file)` and `* APPLY file` call a function without brackets after its name. */
function isPassedAsFunction(tokens: readonly Token[], index: number): boolean {
  const before = tokens[index - 1]
  if (before === undefined) return false
  if (isWordOf(before, 'APPLY')) return true
  const caller = tokens[index - 2]
  return before.text === '(' && caller !== undefined && /^(?:array[A-Z]|map[A-Z]|apply$)/i.test(caller.name)
}

/** True for what stands after a dot: a column of something, never a keyword. */
export function isNamePart(tokens: readonly Token[], index: number): boolean {
  const before = tokens[index - 1]
  return before?.kind === 'symbol' && before.text === '.'
}

/** True when the token is one of these keywords, in any case. `keywords` are in upper case. */
export function isWordOf(token: Token | undefined, ...keywords: readonly string[]): boolean {
  return token?.kind === 'word' && keywords.includes(token.text.toUpperCase())
}

/** @throws SQL_INVALID (400) at the token's place. */
export function refuseToken(sql: string, token: Token | undefined, reason: string): never {
  throw syntaxError(sql, token?.offset ?? sql.length, reason)
}
