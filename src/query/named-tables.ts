// The tables that a text of SQL may read, whatever a caller sends: the names in all branches of a template.
//
// The template is walked as it would be rendered, but by all ways at once: at a condition the states of the text so far fork,
// behind it they join, and those that go on alike are one. So the work grows with the template and not with the number of its
// ways, and a name is found whose parts stand in different branches. Where it would grow too much it ends: then each word of
// the text may be a table.

import type { MadeName, PieceToken, SourceSpan, SqlHole } from '../schema/syntax/sql-pieces.ts'
import { type MaybePlace, type SqlPlace, type TablePlace, TablePlaces } from '../schema/syntax/table-places.ts'
import { BoundedCache } from '../shared/bounded-cache.ts'
import { mebibyte } from '../shared/bytes.ts'
import { compileTemplate } from '../template/compile-template.ts'
import type { Statement } from '../template/syntax.types.ts'
import { TemplateError } from '../template/template-error.ts'
import { type PrintedHole, PrintedTexts } from './printed-texts.ts'

/** A name of a table. */
export interface NamedTable {
  readonly kind: TablePlace['kind']
  /** As it is looked up: parts with dots between them, without quotes. */
  readonly name: string
  /** Where it stands in the source, with its quotes; null where it is made of pieces, or told by a caller. */
  readonly span: SourceSpan | null
  /** Whether it stands in SQL, and not in a text of the template or of SQL. */
  readonly isWritten: boolean
  /** Whether it has an alias in all branches, in some or in none. */
  readonly aliased: 'all' | 'some' | 'none'
}

/** What stands before a dot, and is no table there. */
export interface NamedQualifier {
  readonly name: string
  readonly span: SourceSpan | null
}

export interface NamedTables {
  readonly tables: readonly NamedTable[]
  /** Names that may be tables where they stand, or be something else. */
  readonly possible: readonly NamedTable[]
  readonly made: readonly MadeName[]
  /** Texts of which names are made in ways that are not followed, in small letters. */
  readonly pieces: readonly string[]
  readonly qualifiers: readonly NamedQualifier[]
  /** Whether several tables stand behind one FROM in some branch. */
  readonly hasJoins: boolean
  /** How often each name and word stands in code. */
  readonly wordCounts: ReadonlyMap<string, number>
  /** Whether the template prints names in other places than those of tables: such a name may be that of a table too. */
  readonly printsNames: boolean
  /** Whether not all branches were gone through: then every word of the text is possible. */
  readonly isCut: boolean
  /** Whether a value may name a table that these names do not tell. */
  readonly isOpen: boolean
  /** Whether a value may be the whole of a name. */
  readonly isWhole: boolean
}

export const noTables: NamedTables = {
  tables: [],
  possible: [],
  made: [],
  pieces: [],
  qualifiers: [],
  hasJoins: false,
  wordCounts: new Map(),
  printsNames: false,
  isCut: false,
  isOpen: false,
  isWhole: false,
}

/** A tag behind what may begin a comment or a heredoc: what follows may be one, or code. */
const splitOpener = /[-/*#$]\{[%#]/

const textsMax = 4_000
const bytesMax = 32 * mebibyte
/** About what one name takes. */
const nameBytes = 200
const known = new BoundedCache<NamedTables>({ entriesMax: textsMax, weightMax: bytesMax })

/**
 * Finds the names in a text, once for each text; one that is no template that can be read has none. It takes some hundredths of a
 * second at most: whoever asks for many texts gives way between them.
 */
export function namedTables(sql: string): NamedTables {
  const kept = known.get(sql)
  if (kept !== undefined) return kept
  const named = findTables(sql)
  const nameCount = named.tables.length + named.possible.length + named.wordCounts.size
  known.set(sql, named, 2 * sql.length + nameCount * nameBytes)
  return named
}

function findTables(sql: string): NamedTables {
  try {
    const { statements } = compileTemplate(sql)
    const printed = new PrintedTexts(sql, statements)
    const found = new FoundTables()
    const walk = new BranchWalk(printed, sql.length)
    const ends = walk.through(statements, [new TablePlaces((place) => found.add(place))])
    for (const end of ends) end.end()
    for (const hole of printed.holes) found.addWritten(hole)
    if (walk.isCut || printed.isCut || splitOpener.test(sql)) found.addWords(sql, printed.allHoles())
    return found.tables
  } catch (thrown) {
    // An earlier release may have taken it; whoever reads it is told.
    if (thrown instanceof TemplateError) return noTables
    throw thrown
  }
}

/** Most states of a text at one place; those of real templates are one to four. */
const statesMax = 48
/** Most work for one text beside going through it twice: characters that all states went through, and the like of other work. */
const workMax = 200_000
const statementWork = 20
const stateWork = 60
/** How often a loop is gone through: behind the second time nothing new comes but for names that grow. */
const roundsMax = 3

type States = readonly TablePlaces[]

/** Goes through statements by all ways at once. */
class BranchWalk {
  readonly #printed: PrintedTexts
  /** Whether there were more states than are looked at. */
  isCut = false
  #work = 0
  readonly #workMax: number
  /** What leaves the innermost loop, and what goes on with its next turn. */
  #breaks: TablePlaces[] = []
  #continues: TablePlaces[] = []

  constructor(printed: PrintedTexts, textLength: number) {
    this.#printed = printed
    this.#workMax = workMax + 2 * textLength
  }

  /** The states behind the statements; those that come in are used up. There are none where the work ends. */
  through(statements: readonly Statement[], states: States, onStep?: (states: States) => void): States {
    let current = states
    for (const statement of statements) {
      this.#work += current.length * statementWork
      if (this.#work > this.#workMax) this.isCut = true
      if (this.isCut) return []
      onStep?.(current.map((state) => state.copy()))
      current = this.#step(statement, current)
    }
    return current
  }

  #step(statement: Statement, states: States): States {
    switch (statement.kind) {
      case 'text':
        this.#work += states.length * statement.text.length
        for (const state of states) state.text(statement.text, statement.offset)
        return states
      case 'print': {
        const hole = this.#printed.holeOf(statement.value)
        const blanks = hole.blank === 'always' ? states : hole.blank === 'maybe' ? copies(states) : []
        for (const state of blanks) state.blank()
        if (hole.blank === 'always') return blanks
        for (const state of states) state.hole(hole)
        return blanks.length === 0 ? states : this.#joined([...states, ...blanks])
      }
      case 'if': {
        const bodies = [...statement.branches.map(({ body }) => body), statement.otherwise]
        return this.#joined(bodies.flatMap((body) => this.through(body, copies(states))))
      }
      case 'for':
      case 'while':
        return this.#loop(statement.body, statement.otherwise, states)
      case 'try':
        return this.#try(statement, states)
      case 'break':
        this.#breaks.push(...states)
        return []
      case 'continue':
        this.#continues.push(...states)
        return []
      case 'set':
        return states
    }
  }

  #loop(body: readonly Statement[], otherwise: readonly Statement[], states: States): States {
    const outer = [this.#breaks, this.#continues] as const
    this.#breaks = []
    let heads = this.#joined(states)
    for (let round = 0; round < roundsMax; round += 1) {
      this.#continues = []
      const ends = this.through(body, copies(heads))
      const next = this.#joined([...heads, ...ends, ...this.#continues])
      if (next.length === heads.length) break
      heads = next
    }
    const breaks = this.#breaks
    ;[this.#breaks, this.#continues] = outer
    return this.#joined([...breaks, ...this.through(otherwise, copies(heads))])
  }

  /** A body may be left at each of its statements. */
  #try({ body, handlers, otherwise, last }: Extract<Statement, { readonly kind: 'try' }>, states: States): States {
    const left: TablePlaces[] = []
    const ends = this.through(body, states, (step) => left.push(...step))
    const caught = handlers.flatMap((handler) => this.through(handler.body, copies(this.#joined(left))))
    return this.through(last, this.#joined([...this.through(otherwise, ends), ...caught]))
  }

  #joined(states: States): States {
    for (const { depth } of states) this.#work += stateWork * depth
    const byKey = new Map(states.map((state) => [state.key, state]))
    if (byKey.size > statesMax) this.isCut = true
    return this.isCut ? [] : [...byKey.values()]
  }
}

function copies(states: States): States {
  return states.map((state) => state.copy())
}

/** Most names that the values of one place give together. */
const namesMax = 64

class FoundTables {
  readonly #tables = new Map<string, NamedTable>()
  readonly #possible = new Map<string, NamedTable>()
  readonly #made = new Map<string, MadeName>()
  readonly #pieces = new Set<string>()
  readonly #qualifiers = new Map<string, NamedQualifier>()
  readonly #words = new Map<string, Set<number>>()
  /** Those with a printed value, and which of them name tables. */
  readonly #printedNames = new Set<PieceToken>()
  readonly #printedTables = new Set<PieceToken>()
  #hasJoins = false
  #isCut = false
  #isOpen = false
  #isWhole = false

  get tables(): NamedTables {
    return {
      tables: [...this.#tables.values()],
      possible: [...this.#possible.values()],
      pieces: [...this.#pieces],
      isCut: this.#isCut,
      isOpen: this.#isOpen || this.#isCut || this.#made.size > 0 || this.#pieces.size > 0,
      isWhole: this.#isWhole || this.#isCut,
      made: [...this.#made.values()],
      qualifiers: [...this.#qualifiers.values()],
      hasJoins: this.#hasJoins,
      wordCounts: new Map(Array.from(this.#words, ([word, places]) => [word, places.size])),
      printsNames: [...this.#printedNames].some((token) => !this.#printedTables.has(token)),
    }
  }

  add(place: SqlPlace): void {
    if (place.kind === 'word') {
      const { text, span } = place.token
      const places = this.#words.get(text) ?? new Set()
      this.#words.set(text, places.add(span?.start ?? -1))
      if (isPrinted(place.token)) this.#printedNames.add(place.token)
      return
    }
    if (place.kind === 'join') {
      this.#hasJoins = true
      return
    }
    if (place.kind === 'qualifier') {
      const { text, span } = place.token
      this.#qualifiers.set(JSON.stringify([text, span]), { name: text, span })
      return
    }
    this.#isOpen ||= place.parts.some((part) =>
      holesIn([part]).some((hole) => hole.isOpen && namesTable(place, part, hole)),
    )
    if (place.kind === 'maybe') {
      this.#addPossible(place)
      return
    }
    const { kind, parts, hasAlias, queries } = place
    for (const part of parts) this.#printedTables.add(part)
    const aliased = hasAlias ? 'all' : 'none'
    const [first] = parts
    const hole = parts.length === 1 && first?.fragments.length === 1 ? first.fragments[0] : undefined
    this.#addAround(parts)
    if (hole !== undefined && typeof hole !== 'string') {
      for (const { text, span } of hole.values.filter(({ text }) => !queries.has(text)))
        this.#note({ kind, name: text, span, isWritten: false, aliased })
      for (const made of hole.made) this.#noteMade(made)
      this.#isWhole ||= hole.isOpen && hole.made.length === 0
      return
    }
    const { names, made, isOpen } = namesOf(parts)
    if (isOpen && made === null) this.#addPieces(parts)
    this.#isWhole ||= isOpen && made === null
    const span = names.length === 1 && made === null ? spanOf(parts) : null
    for (const name of names.filter((one) => parts.length > 1 || !queries.has(one)))
      this.#note({ kind, name, span, isWritten: kind !== 'joinGet', aliased })
    if (made !== null) this.#noteMade(made)
  }

  /** Takes the names in SQL that a value prints. */
  addWritten({ written }: PrintedHole): void {
    for (const name of written) this.#notePossible(name)
  }

  /** Takes every word for a name, and what it may be a part of: in too many branches to go through, none is to be missed. */
  addWords(sql: string, holes: readonly PrintedHole[] | null): void {
    this.#isCut = true
    for (const [word] of sql.matchAll(/\w+/g)) this.#notePossible(word)
    for (const [, prefix = ''] of sql.matchAll(/(\w+)\{[{%#]/g)) this.#noteMade({ prefix, suffix: '' })
    for (const [, suffix = ''] of sql.matchAll(/[}%#]\}(\w+)/g)) this.#noteMade({ prefix: '', suffix })
    const decoded = sql.replaceAll(/\\x([0-9A-Fa-f]{2})/g, (_, digits: string) =>
      String.fromCharCode(Number.parseInt(digits, 16)),
    )
    if (decoded !== sql) for (const [word] of decoded.matchAll(/\w+/g)) this.#notePossible(word)
    const isJoined = /[\w}]\{\{|\}\}[\w{]/.test(sql)
    for (const hole of holes ?? []) {
      this.#addHole(hole)
      for (const { text } of isJoined ? hole.values : []) {
        this.#noteMade({ prefix: text, suffix: '' })
        this.#noteMade({ prefix: '', suffix: text })
      }
    }
    if (holes === null) for (const [word] of sql.matchAll(/\w+/g)) this.#pieces.add(word.toLowerCase())
  }

  #addPossible({ parts, queries }: MaybePlace): void {
    const { names, made, isOpen } = namesOf(parts)
    if (isOpen && made === null) this.#addPieces(parts)
    this.#isWhole ||= isOpen && made === null
    const span = names.length === 1 && made === null ? spanOf(parts) : null
    for (const name of names) if (parts.length > 1 || !queries.has(name)) this.#notePossible(name, span)
    if (made !== null) this.#noteMade(made)
    this.#addAround(parts)
    for (const hole of holesIn(parts)) this.#addHole(hole)
  }

  /** Of values that stand side by side each may be known in part. */
  #addPieces(parts: readonly PieceToken[]): void {
    const holes = holesIn(parts)
    if (holes.length < 2) return
    for (const { values, made } of holes) {
      const texts = [...values.map(({ text }) => text), ...made.flatMap(({ prefix, suffix }) => [prefix, suffix])]
      for (const text of texts) if (/[A-Za-z0-9]/.test(text)) this.#pieces.add(text.toLowerCase())
    }
  }

  /** A value may print something that ends the name in front of it, and more than one name. */
  #addAround(parts: readonly PieceToken[]): void {
    const holes = holesIn(parts)
    if (holes.length === 0) return
    for (const { fragments } of parts) {
      const isMixed = fragments.length > 1
      if (isMixed) for (const one of fragments) if (typeof one === 'string') this.#notePossible(one)
    }
    for (const { values, pieces } of holes) {
      for (const { text } of values)
        if (/\W/.test(text)) for (const word of text.match(/\w+/g) ?? []) this.#notePossible(word)
      for (const piece of pieces) this.#pieces.add(piece)
    }
  }

  #addHole({ values, made, pieces }: SqlHole): void {
    for (const { text } of values) this.#notePossible(text)
    for (const one of made) this.#noteMade(one)
    for (const piece of pieces) this.#pieces.add(piece)
  }

  #notePossible(text: string, span: SourceSpan | null = null): void {
    // Of an id with a label the digits are a word.
    const name = /^[0-9a-f]{32}$/.test(text) ? `t_${text}` : text
    const table: NamedTable = { kind: 'in', name, span, isWritten: true, aliased: 'all' }
    this.#possible.set(JSON.stringify([name, span]), table)
  }

  #noteMade(made: MadeName): void {
    this.#made.set(JSON.stringify(made), made)
  }

  #note(table: NamedTable): void {
    const key = JSON.stringify([table.kind, table.name, table.span])
    const known = this.#tables.get(key)
    const isSame = known === undefined || known.aliased === table.aliased
    this.#tables.set(key, isSame ? table : { ...table, aliased: 'some' })
  }
}

/** Within a name or a text any value counts; a value alone is a name only where it is printed as one. */
function namesTable(place: TablePlace | MaybePlace, { kind }: PieceToken, { isName }: SqlHole): boolean {
  return isName || kind === 'name' || kind === 'string' || place.kind === 'joinGet'
}

function isPrinted({ fragments }: PieceToken): boolean {
  return fragments.some((fragment) => typeof fragment !== 'string')
}

function holesIn(parts: readonly PieceToken[]): readonly SqlHole[] {
  return parts.flatMap(({ fragments }) => fragments.filter((fragment) => typeof fragment !== 'string'))
}

function spanOf(parts: readonly PieceToken[]): SourceSpan | null {
  const start = parts[0]?.span
  const end = parts.at(-1)?.span
  if (start === null || start === undefined || end === null || end === undefined) return null
  return parts.every(({ span }) => span !== null) ? { start: start.start, end: end.end } : null
}

interface MadeNames {
  readonly names: readonly string[]
  /** How others begin and end; null for nothing that is known. */
  readonly made: MadeName | null
  /** Whether there may be others. */
  readonly isOpen: boolean
}

/** The names that parts give with the values in them, and what else they may give. */
function namesOf(parts: readonly PieceToken[]): MadeNames {
  const fragments = parts.flatMap((part, index) => (index === 0 ? part.fragments : ['.', ...part.fragments]))
  let names: readonly string[] = ['']
  let isOpen = false
  for (const fragment of fragments) {
    const values = typeof fragment === 'string' ? [fragment] : fragment.values.map(({ text }) => text)
    isOpen ||= typeof fragment !== 'string' && fragment.isOpen
    const isTooMany = names.length * values.length > namesMax
    isOpen ||= isTooMany
    names = isTooMany ? [] : names.flatMap((name) => values.map((value) => name + value))
  }
  const isText = (fragment: (typeof fragments)[number]): fragment is string => typeof fragment === 'string'
  const firstHole = fragments.findIndex((fragment) => !isText(fragment))
  const lastHole = fragments.findLastIndex((fragment) => !isText(fragment))
  const prefix = fragments.slice(0, Math.max(firstHole, 0)).join('')
  const suffix = lastHole < 0 ? '' : fragments.slice(lastHole + 1).join('')
  return { names, made: isOpen && prefix + suffix !== '' ? { prefix, suffix } : null, isOpen }
}
