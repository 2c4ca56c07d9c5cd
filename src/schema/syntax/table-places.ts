// Where tables are named in a text of SQL that comes in pieces, some of which nobody knows yet: the texts of a template's
// branches, with holes where values are printed.
//
// It is no parser. A piece may begin and end anywhere, in a name, a string or a bracket, and a template's branches fork and
// join what is known of the text before. So this is the state of one such text: it takes a piece, it can be copied, and two of
// one `key` go on alike. It is lenient: what it takes for a table may be a column (`EXTRACT(DAY FROM x)` is known, others may be
// not); what the engine reads as a table it must not miss.

import { inFunctions } from './in-functions.ts'
import { notTableAliases } from './keywords.ts'
import { type PieceToken, type SqlHole, SqlPieces } from './sql-pieces.ts'

/** A place where a table is named. */
export interface TablePlace {
  /** As for `TableRead`. */
  readonly kind: 'table' | 'in' | 'joinGet'
  /** In order; a labelled id has several. */
  readonly parts: readonly PieceToken[]
  readonly hasAlias: boolean
  /** Names that WITH gives to queries here: one of them alone is no table. */
  readonly queries: ReadonlySet<string>
}

/** A name in front of a dot that is no table itself, as in `events.id`. */
export interface QualifierPlace {
  readonly kind: 'qualifier'
  readonly token: PieceToken
}

/** A name that may be a table there, or a column: as in `x IN (name)`. */
export interface MaybePlace {
  readonly kind: 'maybe'
  readonly parts: readonly PieceToken[]
  readonly queries: ReadonlySet<string>
}

/** Several tables stand behind one FROM. */
export interface JoinPlace {
  readonly kind: 'join'
}

/** Any name or word that stands in code. */
export interface WordPlace {
  readonly kind: 'word'
  readonly token: PieceToken
}

export type SqlPlace = TablePlace | MaybePlace | QualifierPlace | JoinPlace | WordPlace
type Report = (place: SqlPlace) => void

/** What a bracket holds. */
interface Level {
  readonly bracket: Bracket
  clause: 'start' | 'with' | 'select' | 'from' | 'other'
  expects: TablePlace['kind'] | 'maybe' | null
  /** Whether each name that begins an item of it may be a table: behind IN a bracket changes nothing. */
  isMember: boolean
  /** Of a function: which of its arguments this is. */
  argument: number
  /** The first name of an item of WITH. */
  item: string
  /** Names that WITH gives to queries. */
  queries: readonly string[]
  /** Those of the first SELECT, which the others of its UNION see too; null while it lasts. */
  shared: readonly string[] | null
  /** The name of WITH whose query stands in the bracket. */
  readonly body: string | null
}

/** `printed`: of a function that a value names. */
type Bracket = 'none' | 'plain' | 'in' | 'joinGet' | 'printed' | 'worded' | 'index'

interface OpenName {
  readonly kind: TablePlace['kind'] | 'maybe'
  readonly parts: readonly PieceToken[]
  /** A dot was the last that came. */
  readonly isOpen: boolean
}

const depthMax = 200
const otherClauses: ReadonlySet<string> = new Set(
  'WHERE PREWHERE GROUP ORDER HAVING LIMIT SETTINGS WINDOW QUALIFY FORMAT USING INTERPOLATE FETCH'.split(' '),
)
const queryWords: ReadonlySet<string> = new Set(['SELECT', 'WITH', 'FROM'])
const setWords: ReadonlySet<string> = new Set(['UNION', 'INTERSECT', 'EXCEPT'])
const wordedFunctions: ReadonlySet<string> = new Set(
  'EXTRACT TRIM LTRIM RTRIM SUBSTRING SUBSTR MID OVERLAY POSITION'.split(' '),
)

export class TablePlaces {
  readonly #report: Report
  readonly #pieces: SqlPieces
  #levels: readonly Level[]
  #name: OpenName | null = null
  /** The last two tokens, the last one first. */
  #last: PieceToken | null = null
  #beforeLast: PieceToken | null = null

  constructor(report: Report, from?: TablePlaces) {
    this.#report = report
    this.#pieces = new SqlPieces((token) => this.#take(token), from === undefined ? undefined : from.#pieces)
    this.#levels = from === undefined ? [newLevel('none', 'start', null)] : from.#levels.map((level) => ({ ...level }))
    if (from === undefined) return
    this.#name = from.#name
    this.#last = from.#last
    this.#beforeLast = from.#beforeLast
  }

  copy(): TablePlaces {
    return new TablePlaces(this.#report, this)
  }

  /** How many brackets are open: as much is copied and compared. */
  get depth(): number {
    return this.#levels.length
  }

  /** The same for two that go on alike. */
  get key(): string {
    const words = [this.#last, this.#beforeLast].map((token) => (token === null ? '' : wordOf(token)))
    const { openWord } = this.#pieces
    const { expects, clause } = this.#level
    // A word that names nothing here and grows to no word of the language: which one it is makes no difference.
    const isPlain = this.#name === null && expects === null && clause !== 'with' && openWord !== null
    const open = isPlain && !mayBecomeKnown(openWord) ? 'word' : this.#pieces.key
    return JSON.stringify([open, this.#levels, this.#name, words])
  }

  /** Takes a piece of text; `offset` is where it stands in its source. */
  text(text: string, offset: number): void {
    this.#pieces.text(text, offset)
  }

  /** Takes a value that is printed. */
  hole(hole: SqlHole): void {
    this.#pieces.hole(hole)
  }

  /** Takes a value that prints nothing but a blank or a comment. */
  blank(): void {
    this.#pieces.blank()
  }

  /** Takes the end of the text. */
  end(): void {
    this.#pieces.end()
    this.#closeName(null)
  }

  get #level(): Level {
    // There is always the outermost one.
    return this.#levels.at(-1) as Level
  }

  #take(token: PieceToken): void {
    if (token.kind === 'name') this.#report({ kind: 'word', token })
    if (this.#continuesName(token)) return
    this.#closeName(token)
    const isFirst = this.#beforeLast?.key !== '.'
    if (token.key === '.' && this.#last?.kind === 'name' && isFirst) {
      this.#report({ kind: 'qualifier', token: this.#last })
    }
    const level = this.#level
    if (token.kind === 'symbol') this.#takeSymbol(token, level)
    else if (level.expects !== null) this.#takeExpected(token, level)
    else if (token.kind === 'name') this.#takeWord(token, level)
    this.#beforeLast = this.#last
    this.#last = token
  }

  /** Whether the token belongs to the name of a table that has begun. */
  #continuesName(token: PieceToken): boolean {
    const name = this.#name
    if (name === null) return false
    if (!name.isOpen && token.key === '.') this.#name = { ...name, isOpen: true }
    else if (name.isOpen && (token.kind === 'name' || token.kind === 'number')) {
      // An id behind its label may begin with a digit.
      this.#name = { ...name, parts: [...name.parts, token], isOpen: false }
    } else return false
    this.#last = token
    return true
  }

  /** Tells the name that has begun, now that `next` follows it; a function is none. */
  #closeName(next: PieceToken | null): void {
    const name = this.#name
    if (name === null) return
    this.#name = null
    if (next?.key === '(' || name.isOpen) return
    const { kind, parts } = name
    const queries = this.#queries()
    if (kind === 'maybe') {
      this.#report({ kind, parts, queries })
      return
    }
    const hasAlias = next?.kind === 'name' && (next.key === 'AS' || !notTableAliases.has(next.key))
    this.#report({ kind, parts, hasAlias, queries })
  }

  /** What WITH gives a name to and is seen here: not what stands in its own query. */
  #queries(): ReadonlySet<string> {
    const bodies = new Set<string>()
    const seen = new Set<string>()
    for (const { queries, body } of this.#levels.toReversed()) {
      for (const query of queries) if (!bodies.has(query)) seen.add(query)
      if (body !== null) bodies.add(body)
    }
    return seen
  }

  #takeExpected(token: PieceToken, level: Level): void {
    const { expects } = level
    level.expects = null
    if (expects === 'maybe' && level.bracket === 'printed' && token.kind !== 'name') {
      this.#report({ kind: 'maybe', parts: [token], queries: new Set() })
      return
    }
    if (expects === 'joinGet') {
      this.#report({ kind: 'joinGet', parts: [token], hasAlias: true, queries: new Set() })
      return
    }
    if (token.kind !== 'name' || expects === null) return
    if (queryWords.has(token.key)) {
      level.clause = 'start'
      level.isMember = false
      this.#takeWord(token, level)
    } else if (token.key !== 'NULL') this.#name = { kind: expects, parts: [token], isOpen: false }
  }

  #takeWord(token: PieceToken, level: Level): void {
    const { key } = token
    const last = this.#last?.key ?? ''
    if (level.clause === 'with' && level.item === '' && key !== 'RECURSIVE') level.item = token.text
    // A column or an alias may be called as anything.
    if (last === '.' || (last === 'AS' && key !== 'SELECT')) return
    if (key === 'SELECT') level.clause = 'select'
    else if (key === 'WITH' && level.clause === 'start') level.clause = 'with'
    else if (key === 'WITH') return
    else if (setWords.has(key)) {
      level.clause = 'start'
      level.shared ??= level.queries
      level.queries = level.shared
    } else if (key === 'FROM' && level.bracket !== 'worded') this.#takeFrom(level)
    else if (key === 'JOIN') {
      level.clause = last === 'ARRAY' ? 'other' : 'from'
      level.expects = last === 'ARRAY' ? null : 'table'
      this.#report({ kind: 'join' })
    } else if (key === 'IN') level.expects = level.bracket === 'worded' ? 'maybe' : 'in'
    else if (otherClauses.has(key)) level.clause = 'other'
    if (level.clause === 'with' && key === 'WITH') level.item = ''
  }

  /** `IS DISTINCT FROM` reads no table. */
  #takeFrom(level: Level): void {
    const before = this.#beforeLast?.key ?? ''
    if (this.#last?.key === 'DISTINCT' && (before === 'IS' || before === 'NOT')) {
      // But for `SELECT NOT distinct FROM name`, where that is a column.
      if (before === 'NOT') level.expects = 'maybe'
      return
    }
    level.clause = 'from'
    level.expects = 'table'
  }

  #takeSymbol({ key }: PieceToken, level: Level): void {
    const { expects } = level
    level.expects = null
    if (key === '(' || key === '[') this.#open(key, level, expects)
    else if ((key === ')' || key === ']') && this.#levels.length > 1) this.#levels = this.#levels.slice(0, -1)
    else if (key === ',') {
      if (level.bracket === 'in') level.argument = Math.min(level.argument + 1, 2)
      level.item = ''
      if (level.clause === 'from') {
        level.expects = 'table'
        this.#report({ kind: 'join' })
      }
      if (level.isMember || level.bracket === 'printed') level.expects = 'maybe'
      if (level.bracket === 'in' && level.argument === 1) level.expects = 'in'
    }
  }

  #open(key: string, level: Level, expects: Level['expects']): void {
    // So deep no query is; it would be refused for it.
    if (this.#levels.length >= depthMax) return
    // Behind the columns in brackets a comma is one between tables again.
    if (this.#last?.key === 'USING') level.clause = 'from'
    const { clause, item } = level
    const isBody = clause === 'with' && ['AS', 'MATERIALIZED'].includes(this.#last?.key ?? '')
    const inner = newLevel(key === '[' ? 'index' : this.#bracket(), 'start', isBody ? item : null)
    // `FROM (a JOIN b)` holds tables, unless it is a query.
    if (key === '(' && expects === 'table') {
      inner.clause = 'from'
      inner.expects = 'table'
    }
    const isGroup = key === '(' && this.#last?.kind !== 'name'
    inner.isMember = key === '(' && (expects === 'in' || expects === 'maybe' || (level.isMember && isGroup))
    if (inner.isMember || inner.bracket === 'printed') inner.expects = 'maybe'
    if (inner.bracket === 'joinGet') inner.expects = 'joinGet'
    const outer = isBody ? { ...level, queries: [...new Set([...level.queries, item])] } : level
    this.#levels = [...this.#levels.slice(0, -1), outer, inner]
  }

  /** Whether what stands before the last token is an operand, so that an `IN` is no function. */
  #isBehindOperand(): boolean {
    const { kind = 'symbol', key = '' } = this.#beforeLast ?? {}
    if (kind === 'symbol') return key === ')' || key === ']'
    return kind !== 'name' || !beforeOperands.has(key)
  }

  #bracket(): Bracket {
    const { kind = 'symbol', key = '' } = this.#last ?? {}
    if (this.#last === null || kind !== 'name') return 'plain'
    if (isPrinted(this.#last)) return 'printed'
    // Quotes around the name of a function change nothing.
    const lower = this.#last.text.toLowerCase()
    if (key === 'IN' ? !this.#isBehindOperand() : inFunctions.has(lower)) return 'in'
    if (lower.startsWith('joinget')) return 'joinGet'
    return wordedFunctions.has(key) ? 'worded' : 'plain'
  }
}

/** Words behind which an operand begins. */
const beforeOperands: ReadonlySet<string> = new Set(
  'AND BY ELSE FROM HAVING ON OR PREWHERE QUALIFY SELECT THEN WHEN WHERE WITH XOR DISTINCT ALL'.split(' '),
)

/** Words that tell what stands around them, in capitals. */
const knownWords: ReadonlySet<string> = new Set([
  ...queryWords,
  ...otherClauses,
  ...setWords,
  ...wordedFunctions,
  ...beforeOperands,
  ...notTableAliases,
  ...[...inFunctions].map((name) => name.toUpperCase()),
  ...'ARRAY AS DISTINCT IN IS JOIN MATERIALIZED NOT NULL RECURSIVE JOINGET JOINGETORNULL'.split(' '),
])
const beginnings: ReadonlySet<string> = new Set(
  [...knownWords].flatMap((word) => Array.from(word, (_, index) => word.slice(0, index + 1))),
)

function mayBecomeKnown(word: string): boolean {
  return beginnings.has(word)
}

/** What a token says of those that follow it. */
function wordOf(token: PieceToken): string {
  const { kind, key, text } = token
  if (kind !== 'name') return `${kind} ${key}`
  if (isPrinted(token)) return 'printed'
  if (knownWords.has(key) || key.startsWith('JOINGET')) return key
  const lower = text.toLowerCase()
  return inFunctions.has(lower) || lower.startsWith('joinget') ? `function ${lower}` : 'name'
}

function isPrinted({ fragments }: PieceToken): boolean {
  return fragments.some((fragment) => typeof fragment !== 'string')
}

function newLevel(bracket: Bracket, clause: Level['clause'], body: string | null): Level {
  return { bracket, clause, expects: null, isMember: false, argument: 0, item: '', queries: [], shared: null, body }
}
