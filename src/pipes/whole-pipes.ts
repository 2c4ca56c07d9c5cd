// Pipes that get all their nodes at once: new ones, copies, and those that take the place of what a pipe was.

import type { Catalog } from '../catalog/catalog.ts'
import type { Pipe, PipeNode } from '../catalog/pipe.types.ts'
import { errors } from '../shared/errors/errors.ts'
import type { ReadScope } from '../sql/read-scope.types.ts'
import type { LinkedNodes } from './materializations.ts'
import { checkDescription } from './pipe-limits.ts'
import { copiedNodes, newNode, newPipe, replacedNode } from './pipe-nodes.ts'
import type { CopyRequest, LinkedPipe, NodeRequest, NodeTarget, PipeReplacement, PipeRequest } from './pipes.types.ts'
import { type ChangedViews, changeAdvice, editAdvice, mayChangeAll, type ViewLinks } from './view-links.ts'

interface WholePipesOptions {
  readonly nodesMax: number
  readonly descriptionLengthMax: number
  readonly now: () => number
}

/** How a pipe is written that was there before. */
interface Written {
  readonly before: Pipe
  /** Judged when the change's turn has come. */
  readonly guard: () => void
  /** Nodes whose views go once it is written. */
  readonly dropped: readonly PipeNode[]
}

interface Deps {
  readonly catalog: Pick<Catalog, 'checkPipeName' | 'find' | 'findPipe'>
  readonly links: Pick<ViewLinks, 'analyse' | 'madeOf' | 'refuse'>
  readonly get: (nameOrId: string) => Pipe
  readonly checked: (pipe: Pipe, by: { readonly author: ReadScope; readonly start: number }) => Promise<Pipe>
  readonly save: (pipe: Pipe, before: Pipe | undefined, options: { readonly guard: () => void }) => Promise<Pipe>
  readonly saveLinked: (pipe: Pipe, linked: LinkedNodes & Partial<Written>) => Promise<LinkedPipe>
  readonly saveChanged: (pipe: Pipe, views: ChangedViews, written: Written) => Promise<LinkedPipe>
}

interface Replaced extends Pick<PipeReplacement, 'rights'> {
  readonly before: Pipe
  /** What its nodes are to fill beside what they fill already, by their positions. */
  readonly targets: ReadonlyMap<number, NodeTarget>
  readonly author: ReadScope
}

export class WholePipes {
  readonly #options: WholePipesOptions
  readonly #deps: Deps

  constructor(options: WholePipesOptions, deps: Deps) {
    this.#options = options
    this.#deps = deps
  }

  async create({ name, description, nodes }: PipeRequest, author: ReadScope): Promise<LinkedPipe> {
    this.#deps.catalog.checkPipeName(name)
    checkDescription(description, this.#options.descriptionLengthMax)
    let pipe = newPipe(name, description, this.#options.now())
    for (const request of nodes) pipe = this.withNode(pipe, request)
    const targets = new Map(nodes.flatMap(({ target }, index) => (target === undefined ? [] : [[index, target]])))
    return await this.#deps.saveLinked(await this.#deps.checked(pipe, { author, start: 0 }), {
      ...{ author, start: 0, targets },
    })
  }

  /** @param known what had the name a moment ago, as it is now; whoever has it by now stays as he is. */
  async copy({ name, from, description }: CopyRequest, known: Pipe | undefined, author: ReadScope): Promise<Pipe> {
    const { catalog, links } = this.#deps
    const source = this.#deps.get(from)
    const into = known?.name === name ? known : undefined
    if (into === source) {
      throw errors.PARAMETER_INVALID({ parameter: 'from', value: source.name, expected: 'another Pipe than "name"' })
    }
    if (into === undefined) catalog.checkPipeName(name)
    if (description !== undefined) checkDescription(description, this.#options.descriptionLengthMax)
    const pipe = into ?? newPipe(name, source.description, this.#options.now())
    const nodes = copiedNodes(source, into, this.#options.now())
    const copied: Pipe = {
      ...pipe,
      description: description ?? pipe.description,
      nodes,
      endpointId: into === undefined ? null : keptEndpoint(into, nodes),
      parentId: source.id,
    }
    const guard = (): void => {
      // Its nodes get other SQL.
      if (into !== undefined) links.refuse(into.nodes, { what: `Pipe '${name}'`, advice: editAdvice })
    }
    return await this.#deps.save(await this.#deps.checked(copied, { author, start: 0 }), into, { guard })
  }

  /** Gives a pipe that is there these nodes in the place of its own. A node that has the name of one that was there is that one. */
  async replace(before: Pipe, { rights, ...request }: PipeReplacement, author: ReadScope): Promise<LinkedPipe> {
    if (request.nodes.length === 0) throw errors.NODES_MISSING()
    checkDescription(request.description, this.#options.descriptionLengthMax)
    const { pipe, targets, kept } = this.#replaced(before, request)
    const checked = await this.#deps.checked(pipe, { author, start: 0 })
    const warnings = await this.#warningsOf(checked, kept, author)
    const { pipe: saved, reports } = await this.#saveReplaced(checked, { before, targets, rights, author })
    const told = new Set(reports.flatMap((report) => report.warnings))
    const untold = warnings.filter((warning) => !told.has(warning))
    const view = saved.nodes.find((node) => node.view !== undefined)?.view
    if (view === undefined || untold.length === 0) return { pipe: saved, reports }
    return { pipe: saved, reports: [...reports, { view, isCreated: false, warnings: untold }] }
  }

  /** What is to be said of nodes that go on to fill what they fill, in the way in which they are sent. */
  async #warningsOf(pipe: Pipe, kept: ReadonlyMap<number, NodeTarget>, author: ReadScope): Promise<readonly string[]> {
    const warnings: string[] = []
    for (const [position, target] of kept) {
      const analysis = await this.#deps.links.analyse({ pipe, position, target, author })
      warnings.push(...analysis.warnings)
    }
    return warnings
  }

  async #saveReplaced(checked: Pipe, { before, targets, rights, author }: Replaced): Promise<LinkedPipe> {
    const { links } = this.#deps
    const after = new Map(checked.nodes.map((node) => [node.id, node]))
    const dropped = before.nodes.filter(({ id, view }) => view !== undefined && after.get(id)?.view === undefined)
    const what = `Pipe '${before.name}'`
    const guard = (): void => {
      const gone = before.nodes.filter(({ id }) => !after.has(id))
      links.refuse(gone, { what, advice: 'remove their materializations first' }, before.nodes)
    }
    const written = { before, guard, dropped }
    const edited = this.#touched(before, checked)
    const filling = this.#fillingOf(edited, dropped)
    if (filling.length === 0) return await this.#deps.saveLinked(checked, { author, start: 0, targets, ...written })
    const nodes = filling.map(({ node }) => node)
    if (!mayChangeAll(filling, rights)) links.refuse(nodes, { what, advice: changeAdvice })
    if (targets.size > 0) links.refuse(nodes, { what, advice: oneAfterTheOther })
    return await this.#deps.saveChanged(checked, { edited, filling, author, rights }, written)
  }

  /** The pipe with a node behind the others, which is not checked yet. */
  withNode(pipe: Pipe, request: NodeRequest): Pipe {
    const { nodesMax, now } = this.#options
    if (pipe.nodes.length >= nodesMax) throw errors.NODES_TOO_MANY({ pipe: pipe.name, nodesMax })
    checkDescription(request.description, this.#options.descriptionLengthMax)
    const node = newNode(pipe, request, now())
    return { ...pipe, nodes: [...pipe.nodes, node], endpointId: request.isEndpoint ? node.id : pipe.endpointId }
  }

  /** The pipe as it is to be, not checked yet, and what its nodes are to fill, by their positions: beside what they fill already, and that. */
  #replaced(before: Pipe, { description, nodes: requests }: Omit<PipeReplacement, 'rights'>) {
    let made: Pipe = { ...before, description, nodes: [], endpointId: null }
    for (const request of requests) made = this.withNode(made, request)
    const targets = new Map<number, NodeTarget>()
    const kept = new Map<number, NodeTarget>()
    const nodes = made.nodes.map((node, position) => {
      const target = requests[position]?.target
      const known = before.nodes.find(({ name }) => name === node.name)
      const { view, unlinked } = known ?? {}
      const isFilled = view !== undefined && view.targetId === target?.knownId
      const isLinkedAgain = unlinked !== undefined && unlinked.view.targetId === target?.knownId
      const { populatedAt } = isLinkedAgain ? unlinked.view : {}
      if (target !== undefined) (isFilled ? kept : targets).set(position, { ...target, populatedAt })
      return known === undefined ? node : replacedNode(known, node, isFilled ? view : undefined)
    })
    const endpoint = made.nodes.findIndex(({ id }) => id === made.endpointId)
    const endpointId = nodes[endpoint]?.id ?? keptEndpoint(before, nodes)
    return { pipe: { ...made, nodes, endpointId }, targets, kept }
  }

  /** The nodes that stay and may give something else: by other SQL, or by what the names in it stand for then. */
  #touched(before: Pipe, after: Pipe): readonly PipeNode[] {
    const { catalog } = this.#deps
    const sqls = new Map(after.nodes.map(({ id, sql }) => [id, sql]))
    const known = new Set(before.nodes.map(({ id }) => id))
    const stayed = before.nodes.filter(({ id }) => sqls.has(id))
    const order = after.nodes.flatMap(({ id }) => (known.has(id) ? [id] : []))
    const isSameOrder = order.length === known.size && stayed.every(({ id }, index) => order[index] === id)
    const hasTakenName = after.nodes.some(({ id, name }) => {
      return !known.has(id) && (catalog.find(name) ?? catalog.findPipe(name)) !== undefined
    })
    return isSameOrder && !hasTakenName ? stayed.filter(({ id, sql }) => sqls.get(id) !== sql) : stayed
  }

  /** The nodes whose views are made of these, but for those that go. */
  #fillingOf(nodes: readonly PipeNode[], dropped: readonly PipeNode[]): ChangedViews['filling'] {
    const gone = new Set(dropped.map(({ id }) => id))
    const found = nodes.flatMap((node) => this.#deps.links.madeOf(node)).filter(({ node }) => !gone.has(node.id))
    return [...new Map(found.map((one) => [one.node.id, one])).values()]
  }
}

const oneAfterTheOther =
  'change the SQL that they are made of first, and then send the nodes that are to fill something else'

/** The node that stays published: one with the name of the endpoint; null for none. */
function keptEndpoint(before: Pipe, nodes: readonly PipeNode[]): Pipe['endpointId'] {
  const name = before.nodes.find(({ id }) => id === before.endpointId)?.name
  return nodes.find((node) => node.name === name)?.id ?? null
}
