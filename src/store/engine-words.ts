// What the engine says of a text, without what the service has made out of it: for every caller who wrote a text that the
// engine refused.

/**
 * The engine repeats the query, or a part of it, behind its message, as it was rewritten: with the queries of pipes and the
 * row filters that were put into it.
 */
const rewritten =
  /(?:\.? In scope |(?::? ?[Ii]n (?:scope|query|expression)|:? for subquery) \(?(?:SELECT|WITH|INSERT)\b)[\s\S]*?(?=\.? \([A-Z][A-Z0-9_]+\)$|$)/
/** It repeats a lambda before its message. */
const rewrittenLambda = /\bLambda [\s\S]* -> [\s\S]*(?= expect \d+ arguments)/
/** And all that follows a syntax error; the token that it could not read stands in brackets. */
const unread =
  /(failed at position \d+ \(([\s\S]*?)\)(?: \(line \d+, col \d+\))?): [\s\S]*?\.{0,2}(?=\. Expected one of: |\.? \([A-Z][A-Z0-9_]+\)$|$)/

/** Behind some messages, the step of the plan, with casts and constants that nobody wrote. A view's name helps whoever made it. */
const executing =
  /: while executing (?:'FUNCTION|function) [\s\S]*?(?=: while pushing to view |\.? \([A-Z][A-Z0-9_]+\)$|$)/
/** Some messages end in a full stop of their own. */
const doubleStop = /\.\.(?= \([A-Z][A-Z0-9_]+\)$)/

/** As the engine calls the tables of a query, in front of their columns. */
const inner = /\b__table\d+\./g

/** What a table has, the columns of the engine's own among it. */
const available = /,? available columns:(?: '[^']*')+/
const suggestions = /\.? ?\b[Mm]aybe you meant: (?:\[([^\]]*)\]|((?:'[^']*'(?:, ?| or )?)+))\??/g
/** The engine's own columns, and what statements of ours call theirs. */
const ownName = /'_[^']*'|'[^']*\._[^']*'|'dummy[^']*'|'system\.[^']*'|'ws_\d+[^']*'/

/** The engine's message without the statement around the caller's text and what the engine has beside the caller's columns. */
export function withoutInternals(message: string): string {
  const told = message.replace(unread, '$1: $2').replace(rewrittenLambda, 'A lambda').replace(rewritten, '')
  const plain = told.replace(executing, '').replace(available, '').replaceAll(suggestions, withoutOwn)
  return plain.replace(doubleStop, '.').replaceAll(inner, '')
}

function withoutOwn(text: string, listed: string | undefined, plain: string | undefined): string {
  const list = listed ?? plain ?? ''
  const names = list.match(/'[^']*'/g) ?? []
  const own = names.filter((name) => !ownName.test(name))
  if (own.length === names.length) return text
  return own.length === 0
    ? ''
    : `${text.slice(0, text.indexOf(list))}${own.join(', ')}${listed === undefined ? '' : ']'}`
}
