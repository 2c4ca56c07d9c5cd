/** Why a record as a whole was set aside, where nothing could be read of it: behind a colon stands its text. */
export const recordReasons = {
  noObject: 'record is not a JSON object',
  noUtf8: 'record is not valid UTF-8',
  openQuote: 'a quote is never closed',
  textBehindQuote: 'text stands behind a closing quote',
  brokenOff: 'the body broke off inside of a quote',
} as const

export type RecordReason = (typeof recordReasons)[keyof typeof recordReasons]

/** What stands between such a reason and the text. */
export const recordReasonEnd = ': '

/** What stands behind a reason that does not say it itself, where the text behind it is escaped. */
export const escapedMark = ' (not valid UTF-8)'

/** What the reason for a value ends with that is no UTF-8; its text is escaped then. */
export const unreadableEnd = ' is not valid UTF-8'
