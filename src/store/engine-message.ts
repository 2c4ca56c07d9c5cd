// The engine's messages as callers may read them, in two steps. `cleanMessage` takes away what is the service's own: paths,
// databases, versions. `withoutInternals` takes away what the service or the engine has made out of the caller's text.

/**
 * The engine repeats the query, or a part of it, behind its message, as it was rewritten: with the queries of pipes and the
 * row filters that were put into it. What it suggests stands behind that.
 */
const rewritten =
  /(?:[.:] In scope |(?::? ?[Ii]n (?:scope|query|expression)|:? for subquery) \(?(?:SELECT|WITH|INSERT)\b)[\s\S]*?(\. Maybe you meant: \[[^[\]]{0,2000}\])?(?:: Note: [^.]{0,500}\. [^.?]{0,500}\?)?(?=\.? \([A-Z][A-Z0-9_]+\)$|$)/
/**
 * Behind some messages, the step of the plan, with casts and constants that nobody wrote: of it only the function is told. A
 * view's name helps whoever made it.
 */
const executing =
  /: while executing (?:'FUNCTION|function) (\w*)[\s\S]*?(?=: while pushing to view |\.? \([A-Z][A-Z0-9_]+\)$|$)/
/** Some messages end in a full stop of their own. */
const doubleStop = /\.\.(?= \([A-Z][A-Z0-9_]+\)$)/

/** As the engine calls the tables of a query, in front of their columns. */
const inner = /\b__table\d+\./g

/** What a table has, the columns of the engine's own among it. */
const available = /,? available columns:(?: '[^']*')+/
const suggestions = /\.? ?\b[Mm]aybe you meant: (?:\[([^[\]]{0,2000})\]|((?:'[^']*'(?:, ?| or )?)+))\??/g
/** The engine's own columns, and what statements of ours call theirs. */
const ownName = /'_[^']*'|'[^']*\._[^']*'|'dummy[^']*'|'system\.[^']*'|'ws_\d+[^']*'/

/** Whether the message is the text of a `throwIf`: that is the query's own, and stays as it is. */
export function isOwnText(message: string): boolean {
  return message.endsWith('(FUNCTION_THROW_IF_VALUE_IS_NON_ZERO)') && !message.includes(': while pushing to view ')
}

/** The engine's message without the statement around the caller's text and what the engine has beside the caller's columns. */
export function withoutInternals(message: string): string {
  if (isOwnText(message)) return message
  const told = withoutLambda(withoutUnread(message)).replace(rewritten, '$1')
  const placed = told.replace(executing, (step: string, name: string) => functionOf(told.replace(step, ''), name))
  const plain = placed.replace(available, '').replaceAll(suggestions, withoutOwn)
  return inPlainWords(plain.replace(doubleStop, '.').replaceAll(inner, ''))
}

const unreadHead = /failed at position \d+ \(/
const unreadClose = /\)(?: \(line \d+, col \d+\))?: /
const unreadEnd = /\.{0,2}(?=\. Expected one of: |\.? \([A-Z][A-Z0-9_]+\)$|$)/

/**
 * Without what follows a syntax error; the token that it could not read stands in brackets. The parts are found one behind the other, as
 * a search for all of them reads on from each of its beginnings.
 */
function withoutUnread(message: string): string {
  const head = foundFrom(unreadHead, message, 0)
  const close = head === null ? null : foundFrom(unreadClose, message, head.end)
  if (head === null || close === null) return message
  const end = foundFrom(unreadEnd, message, close.end)?.end ?? message.length
  return `${message.slice(0, close.end - 2)}: ${message.slice(head.end, close.start)}${message.slice(end)}`
}

interface Found {
  readonly start: number
  readonly end: number
}

/** The first place of a pattern from an index on; what the pattern looks for must not read on from each of its beginnings. */
function foundFrom(pattern: RegExp, text: string, from: number): Found | null {
  const search = new RegExp(pattern, 'g')
  search.lastIndex = from
  const found = search.exec(text)
  return found === null ? null : { start: found.index, end: found.index + found[0].length }
}

/** It repeats a lambda before its message. Found by hand, as a search tries each `->` from each `Lambda`, and a caller may write many. */
function withoutLambda(message: string): string {
  const start = message.search(/\bLambda /)
  const end = start < 0 ? -1 : lastPlace(message, ' expect ', (rest) => /^ expect \d+ arguments/.test(rest))
  const arrow = end < 0 ? -1 : message.indexOf(' -> ', start + 'Lambda '.length)
  return arrow < 0 || arrow + ' -> '.length > end ? message : `${message.slice(0, start)}A lambda${message.slice(end)}`
}

/** Where a text stands last, of those places that `isIt` says yes to by what begins there; -1 for nowhere. */
function lastPlace(message: string, text: string, isIt: (rest: string) => boolean): number {
  for (let at = message.lastIndexOf(text); at >= 0; at = at === 0 ? -1 : message.lastIndexOf(text, at - 1)) {
    if (isIt(message.slice(at, at + 100))) return at
  }
  return -1
}

/** The engine has no function with a longer name. */
const functionCharsMax = 200

/** Where the message does not tell by itself in which function it was. */
function functionOf(message: string, name: string): string {
  if (name.length > functionCharsMax) return ''
  const isTold = name === '' || name.startsWith('_') || new RegExp(`\\b${name}\\b`).test(message)
  return isTold ? '' : `, in function '${name}'`
}

/** What only those know who know the engine's source. */
const obscure: readonly (readonly [said: RegExp, told: string])[] = [
  [/^JOIN {2}[\s\S]*?((?:[A-Z]{1,12} ){0,6}JOIN \.\.\. )/, '$1'],
  // The column that was found may be one that the engine made out of a condition.
  [
    /^JOIN with 'Join' table engine should be performed by storage keys \[([^\]]*)\], but column '[\s\S]*' was found/,
    'A JOIN with a Data Source of the engine Join compares its key columns ($1), and nothing else of it',
  ],
  [/\bStorage Join \(table (\S+)\)/, "The engine Join of '$1'"],
  [/\bStorage Null \(table (\S+)\)/, "The engine Null of '$1'"],
  [/: While executing \w+(?=\.? \([A-Z][A-Z0-9_]+\)$|$)/, ''],
  [/, in (?=\. \([A-Z][A-Z0-9_]+\)$)/, ''],
  [/\bbecause \w+ requires size >= (\d+)/, 'because it has fewer than $1 characters'],
]

function inPlainWords(message: string): string {
  const plain = obscure.reduce((text, [said, words]) => text.replace(said, words), withPlainArrayJoin(message))
  const told = withNoteLast(withPlainPattern(plain))
  return told.replace(expected, (_, before: string, list: string) => {
    const kinds = [...new Set(list.split(', '))].filter((kind) => !ownKinds.has(kind))
    return kinds.length === 0 ? '' : `${before}${kinds.join(', ')}`
  })
}

function withPlainArrayJoin(message: string): string {
  const [head, middle, tail] = ['ARRAY JOIN ', ' requires expression ', ' with Array or Map type. Actual: ']
  const end = message.startsWith(head) ? message.lastIndexOf(tail) : -1
  const start = end < middle.length ? -1 : message.lastIndexOf(middle, end - middle.length)
  if (start < head.length) return message
  const expression = message.slice(start + middle.length, end)
  return `ARRAY JOIN takes an Array or a Map, and ${expression} is ${message.slice(end + tail.length)}`
}

const patternFunction = /(?:, in function '\w+')?(?=\. \([A-Z][A-Z0-9_]+\)$|$)/

function withPlainPattern(message: string): string {
  const [head, middle] = ['OptimizedRegularExpression: cannot compile re2: ', ', error: ']
  if (!message.startsWith(head)) return message
  const references = [...message.matchAll(/\. Look at \S+ for reference\. /g)]
  const last = references.at(-1)
  const middleStart = last === undefined ? -1 : message.lastIndexOf(middle, last.index - middle.length)
  const reasonStart = middleStart + middle.length
  const reference = references.find(({ index }) => index >= reasonStart)
  if (middleStart < head.length || reference === undefined) return message
  const place = foundFrom(patternFunction, message, reference.index + reference[0].length)
  const rest = place === null ? '' : message.slice(place.end)
  const named = place === null ? '' : message.slice(place.start, place.end)
  const pattern = message.slice(head.length, middleStart)
  const reason = message.slice(reasonStart, reference.index)
  return `The regular expression '${pattern}' cannot be read${named}: ${reason}. Its syntax is that of RE2; in a text of SQL write \\\\ for each \\${rest}`
}

const lastFunction = /, in function '\w+'(?=\.? \([A-Z][A-Z0-9_]+\)$|$)/

/** The function stands behind what it is said of, and not behind a note to it. */
function withNoteLast(message: string): string {
  const note = '. Note: there are '
  const start = message.indexOf(note)
  const named = start < 0 ? null : foundFrom(lastFunction, message, start + note.length)
  if (named === null) return message
  const name = message.slice(named.start, named.end)
  return `${message.slice(0, start)}${name}${message.slice(start, named.start)}${message.slice(named.end)}`
}

const expected = /(\. Expected one of: )([^.]*)/
/** What the engine's parser calls its parts. */
const ownKinds: ReadonlySet<string> = new Set([
  'CAST operator',
  'COLUMNS matcher',
  'collection of literals',
  'compound identifier',
  'MySQL-style global variable',
  'qualified COLUMNS matcher',
  'qualified asterisk',
  'substitution',
  'token',
  'token sequence',
])

function withoutOwn(text: string, listed: string | undefined, plain: string | undefined): string {
  const list = listed ?? plain ?? ''
  const names = list.match(/'[^']*'/g) ?? []
  const own = names.filter((name) => !ownName.test(name))
  if (own.length === names.length) return text
  return own.length === 0
    ? ''
    : `${text.slice(0, text.indexOf(list))}${own.join(', ')}${listed === undefined ? '' : ']'}`
}

/**
 * The engine's message as callers may read it: without `Code: 60. DB::Exception:`, versions, our files and databases, and
 * with the error's name, `(UNKNOWN_TABLE)`, once at its end.
 */
export function cleanMessage(text: string): string {
  return thrownText(text) ?? cleanText(text)
}

/**
 * The text of a `throwIf`, which is its author's own. Behind it stands the step of the plan, where the text comes again, with
 * its quotes escaped; so the last such step is the engine's.
 */
function thrownText(text: string): string | null {
  const [, code, said = ''] = /^(?:Query failed: )?((?:Code: 395\. DB::\w+: )+)([\s\S]*)$/.exec(text) ?? []
  if (code === undefined) return null
  const end = Math.max(
    ...[": while executing 'FUNCTION throwIf(", ': while executing function throwIf on '].map((step) =>
      said.lastIndexOf(step),
    ),
  )
  const isInView = said.lastIndexOf(': while pushing to view ') > end
  return end === -1 || isInView ? null : `${said.slice(0, end)}. (FUNCTION_THROW_IF_VALUE_IS_NON_ZERO)`
}

// The message quotes values of callers, of any length: no search may read on from each of its characters.
function cleanText(text: string): string {
  const plain = text
    .replace(/^(?:Query failed: )?(?:Code: \d+\. DB::\w+: )+/, '')
    .replaceAll(/ ?\(version [^()]*\)/g, '')
    .replaceAll(/:? ?\(in file\/uri [^()]*\)/g, '')
    .replaceAll(/(?<!\s)\s*INTO OUTFILE '[^']*'/g, '')
    .replaceAll(/(?<![^\s'"`()])[^\s'"`()]*\/(?:clickhouse|parts|results)\/[^\s'"`()]*/g, (word) =>
      withoutOwnFile(word),
    )
    .replaceAll(/`?\bws_0001`?\./g, '')
    // The engine's own id of a table, behind ours.
    .replaceAll(/(\b[tv]_[0-9a-f]{32}\w*`?) \([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\)/g, '$1')
  return withNameOnce(withoutTrial(plain).replaceAll(/\b(\w+)_tmp_alter\d+/g, '$1'))
    .replace(/\.\. \(/, '. (')
    .trim()
}

const ownFolders: readonly string[] = ['/clickhouse/', '/parts/', '/results/']

/** The word with its path to one of our folders as words, from its first slash or `file://` on. */
function withoutOwnFile(word: string): string {
  const [folder, at] = ownFolders
    .map((name) => [name, word.lastIndexOf(name)] as const)
    .reduce((last, one) => (one[1] > last[1] ? one : last))
  const slash = word.indexOf('/')
  const scheme = slash - 'file:'.length
  const isUrl = scheme >= 0 && word.startsWith('file:///', scheme) && at > scheme + 'file://'.length
  const start = isUrl ? scheme : slash
  // The folder is none of ours where nothing stands before it.
  if (at <= slash) return word
  const end = foundFrom(/[:,]|$/, word, at + folder.length)?.start ?? word.length
  return `${word.slice(0, start)}a file of the service${word.slice(end)}`
}

/** The query by which the engine tries a DEFAULT is none that the caller knows. */
function withoutTrial(message: string): string {
  const begin = ' in scope SELECT '
  const end = ' FROM dummy.dummy'
  const start = message.indexOf(begin)
  const last = start < 0 ? -1 : lastPlace(message, end, (rest) => !/^\w/.test(rest.slice(end.length)))
  // The text between may be empty, and the blank before FROM is not the one behind SELECT.
  return last < start + begin.length ? message : `${message.slice(0, start)}${message.slice(last + end.length)}`
}

/** With the error's name, which the engine may write several times behind one another, once at the end. */
function withNameOnce(message: string): string {
  const [, name] = /(\([A-Z][A-Z0-9_]+\))\.?\s*$/.exec(message) ?? []
  if (name === undefined) return message
  let before = message
  for (;;) {
    const trimmed = before.trimEnd()
    const bare = trimmed.endsWith('.') ? trimmed.slice(0, -1) : trimmed
    const named: string = bare.endsWith(name) ? bare : trimmed
    if (!named.endsWith(name)) break
    before = named.slice(0, -name.length)
  }
  const told = before.endsWith(' ') ? before.slice(0, -1) : before
  return `${told.endsWith('.') ? told.slice(0, -1) : told}. ${name}`
}
