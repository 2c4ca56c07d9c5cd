// Which functions a query may call. Deny by default: what is not on the list of a version of the engine that somebody has
// looked at (function-names.ts) is refused, however harmless it may be.

import { didYouMean } from '../../shared/nearest-name.ts'
import { SqlFault } from '../syntax/sql-fault.ts'
import { aggregateFunctionNames, scalarFunctionNames } from './function-names.ts'

/** Names in lower case; the engine tells many of its functions in any case. */
const scalars = lowered(scalarFunctionNames)
// What the engine's parser and analyzer know, and its list of functions does not.
const special: ReadonlySet<string> = new Set(
  `date_add dateadd date_sub datesub timestamp_add timestampadd timestamp_sub timestampsub grouping exists
   untuple`.split(/\s+/),
)
const aggregates = lowered(aggregateFunctionNames)

function lowered(names: string): ReadonlySet<string> {
  return new Set(names.toLowerCase().trim().split(/\s+/))
}

// Functions that read files, models, secrets, settings or other tables, speak to the network, wait, or write to the log.
const refused: ReadonlySet<string> = new Set(
  `file filesystemavailable filesystemcapacity filesystemunreserved catboostevaluate naivebayesclassifier
   naivebayesclassifierwithprob naivebayesclassifierwithallprobs evalmlmethod hascolumnintable
   getmaxtablenamelengthfordatabase getsetting getsettingordefault getserversetting getmergetreesetting
   getclienthttpheader globalvariable getserverport getmacro sleep sleepeachrow logtrace fuzzquery generateserialid
   addresstoline addresstolinewithinlines addresstosymbol demangle showcertificate ismergetreepartcoveredby
   mergetreepartinfo structuretocapnprotoschema structuretoprotobufschema aiclassify aiembed aiextract aigenerate
   aitranslate`.split(/\s+/),
)
// Functions that name users, hosts and queries. They take no argument, so nothing can be done with them by handing them
// to `arrayMap`, and columns have such names.
const refusedWithoutArguments: ReadonlySet<string> = new Set(
  `currentuser user authenticateduser authuser session_user current_user currentroles enabledroles defaultroles
   currentprofiles enabledprofiles defaultprofiles hostname fqdn fullhostname serveruuid displayname getoskernelversion
   buildid revision uptime tid shardnum shardcount initialqueryid initial_query_id queryid query_id currentqueryid
   current_query_id initialquerystarttime initial_query_start_time connectionid connection_id hasthreadfuzzer tcpport
   zookeepersessionuptime transactionid transactionlatestsnapshot transactionoldestsnapshot`.split(/\s+/),
)
const refusedFamilies = /^(?:dictget|dicthas|dictis|region(?:hierarchy|in$|to)|__)/

const combinators =
  /(?:if|state|simplestate|merge|foreach|array|map|distinct|ornull|ordefault|resample|argmin|argmax|tuple)$/

/** True for a function that a query may call. Aggregate functions have any number of combinators, `sumIfOrNull`. */
export function isAllowedFunction(name: string): boolean {
  const lower = name.toLowerCase()
  return scalars.has(lower) || special.has(lower) || isAllowedAggregate(lower)
}

/** The same for a place where only an aggregate function can stand, such as the type of its states. */
export function isAllowedAggregate(name: string): boolean {
  for (let base = name.toLowerCase(); ; ) {
    if (aggregates.has(base)) return true
    const shorter = base.replace(combinators, '')
    if (shorter === base) return false
    base = shorter
  }
}

/**
 * Refuses a function that a query may not call.
 *
 * @param isLambda whether the query itself gives this name to a lambda; that cannot take the place of what is refused.
 */
export function checkFunction(name: string, isLambda: () => boolean): void {
  if (isAllowedFunction(name)) return
  if (refusedWithoutArguments.has(name.toLowerCase())) throw new SqlFault(`Function '${name}' is not allowed`)
  checkPassedFunction(name)
  if (!isLambda()) throw unknownFunction(name)
}

/** The refusal of a name that is on no list, with the function that it is near to. */
export function unknownFunction(name: string): SqlFault {
  const known = `${scalarFunctionNames} ${aggregateFunctionNames}`.trim().split(/\s+/)
  return new SqlFault(`Function '${name}' is not known`, { hint: didYouMean(name, known) })
}

/** Refuses what must not be called where a function may be handed to another by its name, or a column. */
export function checkPassedFunction(name: string): void {
  const lower = name.toLowerCase()
  if (refused.has(lower) || refusedFamilies.test(lower)) throw new SqlFault(`Function '${name}' is not allowed`)
}
