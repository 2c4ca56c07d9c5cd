import { recordReasonEnd, recordReasons } from '../../shared/record-reasons.ts'
import { quoteString } from '../../shared/text-escapes.ts'

/** A reason without its value, which may hold anything, also quotes. Must not cut the name of a column. */
export function plainReason(reason: string): string {
  const whole = `splitByString(${quoteString(recordReasonEnd)}, ${reason}, 1)[1]`
  const withoutText = `if(match(${reason}, ${quoteString(wholeRecord)}), ${whole}, ${reason})`
  return `replaceRegexpOne(${withoutText}, ${quoteString("(?s)^value '.*' on column ")}, 'value on column ')`
}

/** The reason of a record as a whole, with its text behind. */
const wholeRecord = `^(?:${[...Object.values(recordReasons), 'record has \\d+ (?:of|fields instead of) \\d+(?: fields)?'].join('|')})(?: \\(not valid UTF-8\\))?${recordReasonEnd}`
