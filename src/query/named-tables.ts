// The tables that a text of SQL may read, whatever a caller sends: the names in all branches of a template.
//
// The template is walked as it would be rendered, but by all ways at once: at a condition the states of the text so far fork,
// behind it they join, and those that go on alike are one. So the work grows with the template and not with the number of its
// ways, and a name is found whose parts stand in different branches.

import type { MadeName, PieceToken, SourceSpan } from '../schema/sql-pieces.ts'
import { type SqlPlace, type TablePlace, TablePlaces } from '../schema/table-places.ts'
import { compileTemplate } from '../template/compile-template.ts'
import type { Statement } from '../template/syntax.types.ts'
import { TemplateError } from '../template/template-error.ts'
import { PrintedTexts } from './printed-texts.ts'

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
  readonly made: readonly MadeName[]
  readonly qualifiers: readonly NamedQualifier[]
  /** Whether several tables stand behind one FROM in some branch. */
  readonly hasJoins: boolean
  /** How often each name and word stands in code. */
  readonly wordCounts: ReadonlyMap<string, number>
  /** Whether values are printed as names elsewhere than for tables: any of them may speak of a table. */
  readonly printsNames: boolean
}

export const noTables: NamedTables = {
  tables: [],
  made: [],
  qualifiers: [],
  hasJoins: false,
  wordCounts: new Map(),
  printsNames: false,
}

/** Finds the names in a text; one that is no template that can be read has none. */
export function namedTables(sql: string): NamedTables {
  try {
    const { statements } = compileTemplate(sql)
    const found = new FoundTables()
    const walk = new BranchWalk(new PrintedTexts(sql, statements))
    const ends = walk.through(statements, [new TablePlaces((place) => found.add(place))])
    for (const end of ends) end.end()
    if (walk.isCut) found.addWords(textsOf(statements))
    return found.tables
  } catch (thrown) {
    // An earlier release may have taken it; whoever reads it is told.
    if (thrown instanceof TemplateError) return noTables
    throw thrown
  }
}

/** Most states of a text at one place; those of real templates are one to four. */
const statesMax = 48
/** Most of them once they have taken so much work: characters and statements that more states than these went through. */
const fewStates = 4
const workMax = 10_000
const statementWork = 20
/** How often a loop is gone through: behind the second time nothing new comes but for names that grow. */
const roundsMax = 3

type States = readonly TablePlaces[]

/** Goes through statements by all ways at once. */
class BranchWalk {
  readonly #printed: PrintedTexts
  /** Whether there were more states than are looked at. */
  isCut = false
  #work = 0
  /** What leaves the innermost loop, and what goes on with its next turn. */
  #breaks: TablePlaces[] = []
  #continues: TablePlaces[] = []

  constructor(printed: PrintedTexts) {
    this.#printed = printed
  }

  /** The states behind the statements; those that come in are used up. */
  through(statements: readonly Statement[], states: States, onStep?: (states: States) => void): States {
    let current = states
    for (const statement of statements) {
      onStep?.(current.map((state) => state.copy()))
      current = this.#step(statement, current)
    }
    return current
  }

  #step(statement: Statement, states: States): States {
    switch (statement.kind) {
      case 'text':
        this.#work += Math.max(0, states.length - fewStates) * (statement.text.length + statementWork)
        for (const state of states) state.text(statement.text, statement.offset)
        return states
      case 'print': {
        const hole = this.#printed.holeOf(statement.value)
        for (const state of states) state.hole(hole)
        return states
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
    const byKey = new Map(states.map((state) => [state.key, state]))
    const countMax = this.#work > workMax ? fewStates : statesMax
    if (byKey.size > countMax) this.isCut = true
    return [...byKey.values()].slice(0, countMax)
  }
}

function copies(states: States): States {
  return states.map((state) => state.copy())
}

function textsOf(statements: readonly Statement[]): readonly string[] {
  return statements.flatMap((statement) => {
    switch (statement.kind) {
      case 'text':
        return [statement.text]
      case 'if':
        return textsOf([...statement.branches.flatMap(({ body }) => body), ...statement.otherwise])
      case 'for':
      case 'while':
        return textsOf([...statement.body, ...statement.otherwise])
      case 'try': {
        const { body, handlers, otherwise, last } = statement
        return textsOf([...body, ...handlers.flatMap((handler) => handler.body), ...otherwise, ...last])
      }
      default:
        return []
    }
  })
}

/** Most names that the values of one place give together. */
const namesMax = 64

class FoundTables {
  readonly #tables = new Map<string, NamedTable>()
  readonly #made = new Map<string, MadeName>()
  readonly #qualifiers = new Map<string, NamedQualifier>()
  readonly #words = new Map<string, Set<number>>()
  /** Those with a printed value, and which of them name tables. */
  readonly #printedNames = new Set<PieceToken>()
  readonly #printedTables = new Set<PieceToken>()
  #hasJoins = false

  get tables(): NamedTables {
    return {
      tables: [...this.#tables.values()],
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
    const { kind, parts, hasAlias, queries } = place
    for (const part of parts) this.#printedTables.add(part)
    const aliased = hasAlias ? 'all' : 'none'
    const [first] = parts
    const hole = parts.length === 1 && first?.fragments.length === 1 ? first.fragments[0] : undefined
    if (hole !== undefined && typeof hole !== 'string') {
      for (const { text, span } of hole.values.filter(({ text }) => !queries.has(text)))
        this.#note({ kind, name: text, span, isWritten: false, aliased })
      for (const made of hole.made) this.#noteMade(made)
      return
    }
    const { names, made } = namesOf(parts)
    const span = names.length === 1 && made === null ? spanOf(parts) : null
    for (const name of names.filter((one) => parts.length > 1 || !queries.has(one)))
      this.#note({ kind, name, span, isWritten: kind !== 'joinGet', aliased })
    if (made !== null) this.#noteMade(made)
  }

  /** Takes every word for a name: in too many branches to go through, none is to be missed. */
  addWords(texts: readonly string[]): void {
    for (const text of texts) {
      for (const [name] of text.matchAll(/\w+/g)) {
        this.#note({ kind: 'table', name, span: null, isWritten: true, aliased: 'some' })
      }
    }
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

function isPrinted({ fragments }: PieceToken): boolean {
  return fragments.some((fragment) => typeof fragment !== 'string')
}

function spanOf(parts: readonly PieceToken[]): SourceSpan | null {
  const start = parts[0]?.span
  const end = parts.at(-1)?.span
  if (start === null || start === undefined || end === null || end === undefined) return null
  return parts.every(({ span }) => span !== null) ? { start: start.start, end: end.end } : null
}

/** The names that parts give with the values in them, and what else they may give. */
function namesOf(parts: readonly PieceToken[]): { readonly names: readonly string[]; readonly made: MadeName | null } {
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
  return { names, made: isOpen && prefix + suffix !== '' ? { prefix, suffix } : null }
}
