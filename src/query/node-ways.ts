// Whether a change of names leaves a node what it was: in every way through its template, the text that the engine would get
// is compared with that of before. Where tables stand for their ids in it, the same text is the same answer.

import { readTokens } from '../schema/syntax/lexer.ts'
import { SqlFault } from '../schema/syntax/sql-fault.ts'
import type { Token } from '../schema/syntax/token.types.ts'
import { ApiError } from '../shared/errors/errors.ts'
import { giveWay } from '../shared/time-slices.ts'
import { compileQuery } from '../sql/compile-query.ts'
import type { ReadScope } from '../sql/read-scope.types.ts'
import type { NameScope, Source } from '../sql/source.types.ts'
import type { Statement } from '../template/syntax.types.ts'
import { type Reading, sourceOf } from './name-scope.ts'
import { Rendering } from './rendering.ts'
import { resolveForNode } from './resolve-name.ts'
import type { TemplateCache } from './template-cache.ts'
import type { FindServiceSource, ReadNode, ReadPipe, WorkspaceReader } from './workspace.types.ts'

/** A node at its place. */
export interface PlacedNode {
  readonly workspace: WorkspaceReader
  readonly pipe: ReadPipe
  readonly position: number
}

export interface NodeChange {
  readonly before: PlacedNode
  readonly after: PlacedNode
  /** A name that tables may be called by in place of another one: it changes nothing where they stand alone. */
  readonly alias: { readonly from: string; readonly to: string } | null
  /** Shared by all comparisons of one rename. */
  readonly budget: WayBudget
}

/** How much text is still compared. */
export interface WayBudget {
  charactersLeft: number
}

/** Some seconds of work, all turns of the event loop together; 100 branches of 60 characters take a twelfth of it. */
const charactersMax = 8_000_000

export function newWayBudget(): WayBudget {
  return { charactersLeft: charactersMax }
}

/**
 * - `same`: the engine gets the same in every way that gives a query.
 * - `other`: it gets something else in one of them, or nothing.
 * - `unknown`: no way gives a query, neither before nor after.
 * - `too long`: there is more text than the budget has left.
 */
export type ChangeVerdict = 'same' | 'other' | 'unknown' | 'too long'

/** Gives others their turn between two texts. */
export type CompareNode = (change: NodeChange) => Promise<ChangeVerdict>

interface Deps {
  readonly database: string
  readonly templates: TemplateCache
  readonly findServiceSource: FindServiceSource
  /** What the service reads for itself: whether names change a node is not a matter of who asks. */
  readonly serviceScope: ReadScope
}

/** Makes the comparison over open modules. */
export function createNodeComparison(deps: Deps): CompareNode {
  return async ({ before, after, alias, budget }) => {
    let verdict: ChangeVerdict = 'unknown'
    const ways = waysThrough(nodeAt(before), deps.templates)
    // About half of a text is rendered in a way, before and after: what cannot be done to its end is not begun.
    if (ways.length * nodeAt(before).sql.length > budget.charactersLeft) return 'too long'
    for (const decide of ways) {
      if (budget.charactersLeft < 0) return 'too long'
      const way: Way = { before, decide, deps, budget }
      await giveWay()
      const textBefore = compiled(before, way)
      await giveWay()
      const textAfter = compiled(after, way)
      if (textBefore === null && textAfter === null) continue
      if (textBefore === null || textAfter === null || !isSame(textBefore, textAfter, alias)) return 'other'
      verdict = 'same'
    }
    return verdict
  }
}

function nodeAt({ pipe, position }: PlacedNode): ReadNode {
  // Whoever names a place names one of its nodes.
  return pipe.nodes[position] as ReadNode
}

interface Way {
  readonly before: PlacedNode
  readonly decide: Decide
  readonly deps: Deps
  readonly budget: WayBudget
}

type Decide = (condition: string) => boolean | undefined

/** What the engine would get. */
interface Compiled {
  readonly settings: string
  readonly tokens: readonly Token[]
}

/** What the engine would get; null for no query. */
function compiled(placed: PlacedNode, { before, decide, deps, budget }: Way): Compiled | null {
  const { database, templates, findServiceSource, serviceScope: readScope } = deps
  const rendering = new Rendering({
    templates,
    parameters: new Map(),
    mode: 'check',
    secretOf: () => undefined,
    decide,
  })
  const readings = [placed, before].map(({ workspace }): Reading => {
    const nodeText = (node: ReadNode): string => rendering.nodeText(node)
    return { workspace, database, readScope, findServiceSource, nodeText }
  })
  const [reading, readingBefore] = readings as [Reading, Reading]
  try {
    budget.charactersLeft -= wayCost
    const { text } = rendering.render(nodeAt(placed).sql, { maySecrets: true })
    const scope = scopeOf({ reading, placed }, { reading: readingBefore, placed: before })
    budget.charactersLeft -= text.length
    const { sql, settings } = compileQuery(text, { scope })
    budget.charactersLeft -= Math.max(0, sql.length - text.length)
    return { settings: JSON.stringify(settings), tokens: readTokens(sql) }
  } catch (thrown) {
    if (thrown instanceof ApiError || thrown instanceof SqlFault) return null
    throw thrown
  }
}

interface Names {
  readonly reading: Reading
  readonly placed: PlacedNode
}

/** As a check prints the name of a table that only a caller's value tells. */
const placeholder = 'placeholder'

/** The names as they are for the node alone: what it reads has the names, and so the text, of before. */
function scopeOf(own: Names, before: Names): NameScope {
  return {
    find(parts): Source | 'denied' | undefined {
      const found = findIn(own, parts)
      if (found === undefined && parts.length === 1 && parts[0] === placeholder) {
        const scope: NameScope = { find: () => undefined }
        return { kind: 'query', id: placeholder, name: placeholder, sql: () => 'SELECT 1', scope }
      }
      if (found === undefined || found.source === 'denied' || found.source.kind === 'table') return found?.source
      const known = findIn(before, [found.resourceId])?.source
      return known === undefined || known === 'denied' ? found.source : { ...known, name: found.source.name }
    },
  }
}

function findIn({ reading, placed }: Names, parts: readonly string[]) {
  const named = resolveForNode(reading.workspace, placed.pipe, { parts, end: placed.position })
  return named === undefined ? undefined : { source: sourceOf(reading, named), resourceId: named.id }
}

/** What a way costs beside its text, in characters. */
const wayCost = 200

function isSame(before: Compiled, after: Compiled, alias: NodeChange['alias']): boolean {
  if (before.settings !== after.settings || before.tokens.length !== after.tokens.length) return false
  const otherNames = new Set<string>()
  const keptNames = new Set<string>()
  for (const [index, { name, kind }] of before.tokens.entries()) {
    const nameAfter = after.tokens[index]?.name
    const isBehindAs = before.tokens[index - 1]?.name === 'AS'
    if (name === nameAfter) {
      // Nodes that are read have aliases of their own.
      if (!isBehindAs && (kind === 'word' || kind === 'quotedName')) keptNames.add(name)
      continue
    }
    // Versions and the quarantine go by the name with something behind it.
    const isAlias = isBehindAs && alias !== null && name.startsWith(alias.from)
    if (!isAlias || nameAfter !== alias.to + name.slice(alias.from.length)) return false
    otherNames.add(name).add(nameAfter)
  }
  // Whatever else goes by one of the names may mean the table, and mean something else or nothing then.
  return [...otherNames].every((name) => !keptNames.has(name))
}

/** With so many conditions all ways are tried; with more, each branch is taken with the others and without. */
const conditionsMax = 5
const waysMax = 200

function waysThrough({ sql }: ReadNode, templates: TemplateCache): readonly Decide[] {
  const asValuesSay: Decide = () => undefined
  let statements: readonly Statement[]
  try {
    statements = templates.compile(sql).statements
  } catch (thrown) {
    // No template: no way gives a query.
    if (thrown instanceof ApiError) return [asValuesSay]
    throw thrown
  }
  const branches: Branches = { conditions: new Set(), paths: [] }
  readBranches(statements, [], branches)
  const conditions = [...branches.conditions]
  const decideBy =
    (isTrue: (condition: string) => boolean): Decide =>
    (condition) =>
      branches.conditions.has(condition) ? isTrue(condition) : undefined
  if (conditions.length === 0) return [asValuesSay]
  if (conditions.length <= conditionsMax) {
    const all = Array.from({ length: 2 ** conditions.length }, (_, bits) =>
      decideBy((condition) => (bits & (1 << conditions.indexOf(condition))) !== 0),
    )
    return [asValuesSay, ...all]
  }
  const ways = branches.paths.flatMap((path) => {
    const given = new Map(path.map(({ condition, isTrue }) => [condition, isTrue]))
    return [true, false].map((others) => decideBy((condition) => given.get(condition) ?? others))
  })
  return [asValuesSay, decideBy(() => true), decideBy(() => false), ...ways].slice(0, waysMax)
}

interface Answer {
  readonly condition: string
  readonly isTrue: boolean
}

interface Branches {
  readonly conditions: Set<string>
  /** For each branch the answers that lead to it. */
  readonly paths: (readonly Answer[])[]
}

function readBranches(statements: readonly Statement[], path: readonly Answer[], branches: Branches): void {
  for (const statement of statements) {
    if (statement.kind === 'if') {
      let before = path
      for (const { source, body } of statement.branches) {
        branches.conditions.add(source)
        const taken = [...before, { condition: source, isTrue: true }]
        branches.paths.push(taken)
        readBranches(body, taken, branches)
        before = [...before, { condition: source, isTrue: false }]
      }
      readBranches(statement.otherwise, before, branches)
    } else {
      if ('body' in statement) readBranches(statement.body, path, branches)
      if ('otherwise' in statement) readBranches(statement.otherwise, path, branches)
      if ('handlers' in statement) for (const { body } of statement.handlers) readBranches(body, path, branches)
      if ('last' in statement) readBranches(statement.last, path, branches)
    }
  }
}
