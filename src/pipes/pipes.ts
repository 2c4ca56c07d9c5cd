// Pipes and their nodes: each change is judged, then written as a whole.
//
// Invariants: a node is saved only when it was a query over what there was at that moment; later it may break, when what it
// reads goes, and then its queries fail, not its pipe. No pipe reads itself. Changes of one pipe are made one after the
// other, those of different pipes beside each other, as the engine may take seconds to judge a node. So whatever a change
// takes for granted of other pipes and of data sources is looked at once more when it is written, by a guard: the catalog
// makes one change at a time.

import type { Catalog } from '../catalog/catalog.ts'
import type { Pipe, PipeNode } from '../catalog/pipe.types.ts'
import { findResourceId } from '../catalog/resource-id.ts'
import { userNames } from '../catalog/user-names.ts'
import { dropAdvice } from '../catalog/versioned-name.ts'
import { readNames } from '../query/branch-reads.ts'
import { sqlReading } from '../query/check-node.ts'
import { answeringNode } from '../query/name-scope.ts'
import type { Query } from '../query/query.types.ts'
import { ChangeQueue } from '../shared/change-queue.ts'
import { ApiError, errors } from '../shared/errors/errors.ts'
import type { ReadScope } from '../sql/read-scope.types.ts'
import type { TemplateParameter } from '../template/template.types.ts'
import { changed, expectNode } from './changed-node.ts'
import { mergeParameters, nodeWithOtherPipes } from './endpoint-parameters.ts'
import { type LinkedNodes, Materializations } from './materializations.ts'
import { isMadeBehind, uncoveredNodes } from './name-readers.ts'
import { NodeChecks } from './node-checks.ts'
import { parametersOf } from './node-parameters.ts'
import { readsOfPipe } from './node-reads.ts'
import { withNodeRenamed } from './node-renames.ts'
import { checkAcyclic } from './pipe-cycle.ts'
import { checkDescription } from './pipe-limits.ts'
import { editedNode, findNode, movedTo, withEndpoint } from './pipe-nodes.ts'
import { PipeReaders } from './pipe-readers.ts'
import type {
  AnalysedNode,
  ChangedNode,
  CopyRequest,
  LinkedPipe,
  MaterializeOrder,
  NodeEdit,
  NodeRemoval,
  NodeRequest,
  NodeViews,
  PipeReplacement,
  PipeRequest,
  PipeRevision,
  Pipes,
} from './pipes.types.ts'
import { possibleDependencies, possibleReaders } from './possible-readers.ts'
import { ReaderRenames } from './reader-renames.ts'
import { type RepeatedChanges, refusedAsItIs, StalePipeError } from './repeated-changes.ts'
import { checkFreed, checkTaken } from './version-reads.ts'
import { type ChangedViews, changeAdvice, editAdvice, mayChangeAll, ViewLinks } from './view-links.ts'
import { WholePipes } from './whole-pipes.ts'

export interface PipesOptions {
  /** Most nodes of a pipe. */
  readonly nodesMax: number
  /** Most SQL of all nodes of a pipe together, in bytes of UTF-8: they are written and shown as one. */
  readonly pipeBytesMax: number
  /** Longest description of a pipe or a node, in UTF-16 units. */
  readonly descriptionLengthMax: number
  /** Whether a pipe's first node is published unless another one is. */
  readonly publishFirstNode: boolean
  /** Epoch milliseconds. */
  readonly now: () => number
}

interface Deps {
  readonly catalog: Catalog
  readonly query: Pick<Query, 'checkAuthor' | 'checkNode' | 'compareNode' | 'namesRead'>
  /** Absent where nothing is materialized. */
  readonly views?: NodeViews
  /** With those of data sources that change pipes along. */
  readonly changes: RepeatedChanges
}

/** The module has nothing of its own to open or to close: the catalog keeps what there is. */
export function createPipes(options: PipesOptions, deps: Deps): Pipes {
  return new PipesService(options, deps)
}

class PipesService implements Pipes {
  readonly #options: PipesOptions
  readonly #catalog: Catalog
  readonly #query: Deps['query']
  readonly #readers: PipeReaders
  readonly #renames: ReaderRenames
  readonly #links: ViewLinks
  readonly #materializations: Materializations
  readonly #whole: WholePipes
  readonly #changes = new ChangeQueue()
  readonly #repeated: RepeatedChanges
  readonly #checks: NodeChecks
  readonly parametersOf = parametersOf

  constructor(options: PipesOptions, { catalog, query, views, changes }: Deps) {
    this.#repeated = changes
    this.#options = options
    this.#catalog = catalog
    this.#query = query
    this.#readers = new PipeReaders(catalog)
    this.#checks = new NodeChecks(options, { catalog, query })
    this.#renames = new ReaderRenames(options, { catalog, query })
    this.#links = new ViewLinks({ catalog, views })
    this.#materializations = new Materializations({
      ...{ catalog, query, links: this.#links, now: options.now },
      change: (nameOrId, change) => this.#change(nameOrId, change),
      saveLinked: (pipe, linked) => this.#saveLinked(pipe, linked),
      replace: (pipe, before) => this.#replace(pipe, before),
    })
    this.#whole = new WholePipes(options, {
      ...{ catalog, links: this.#links, get: (nameOrId) => this.get(nameOrId) },
      checked: (pipe, by) => this.#checks.checked(pipe, by),
      save: (pipe, before, saving) => this.#save(pipe, before, saving),
      saveLinked: (pipe, linked) => this.#saveLinked(pipe, linked),
      saveChanged: (pipe, views, saving) => this.#saveChanged(pipe, views, saving),
    })
  }

  find(nameOrId: string): Pipe | undefined {
    return this.#catalog.findPipe(nameOrId)
  }

  get(nameOrId: string): Pipe {
    const pipe = this.find(nameOrId)
    if (pipe === undefined) throw errors.PIPE_NOT_FOUND({ name: nameOrId })
    return pipe
  }

  parametersWithPipes(pipe: Pipe, node: PipeNode): readonly TemplateParameter[] {
    const nodes = nodeWithOtherPipes(pipe, node, this.#catalog)
    return nodes.length === 1 ? parametersOf(node) : mergeParameters(nodes.flatMap((read) => parametersOf(read)))
  }

  readsOf(pipe: Pipe): ReadonlySet<string> {
    return readsOfPipe(pipe, this.#catalog)
  }

  possibleDependencies(pipe: Pipe, node: PipeNode): readonly string[] {
    return possibleDependencies(pipe, node, this.#catalog)
  }

  list(): readonly Pipe[] {
    return this.#catalog.listPipes()
  }

  getNode(pipe: Pipe, nameOrId: string): PipeNode {
    const node = findNode(pipe, nameOrId)
    if (node === undefined) throw errors.NODE_NOT_FOUND({ pipe: pipe.name, node: nameOrId })
    return node
  }

  create(request: PipeRequest, author: ReadScope): Promise<LinkedPipe> {
    return this.#changes.run(request.name, () => this.#repeated.run(() => this.#whole.create(request, author)))
  }

  copy(request: CopyRequest, author: ReadScope): Promise<Pipe> {
    // Its name may stand for another when the turn of the change has come.
    const source = this.get(request.from).id
    return this.#inPlaceOf(request, (into) => this.#whole.copy({ ...request, from: source }, into, author))
  }

  replace(request: PipeReplacement, author: ReadScope): Promise<LinkedPipe> {
    return this.#inPlaceOf(request, (before) => {
      return before?.name === request.name
        ? this.#whole.replace(before, request, author)
        : this.#whole.create(request, author)
    })
  }

  /** Makes a pipe of this name, or changes the one that has it, as it is when its turn has come. */
  #inPlaceOf<Result>(
    { name, requireChange }: Pick<PipeReplacement, 'name' | 'requireChange'>,
    change: (known: Pipe | undefined) => Promise<Result>,
  ): Promise<Result> {
    return this.#changes.run(name, async () => {
      const into = this.#named(name)
      if (into === undefined) return await this.#repeated.run(() => change(undefined))
      requireChange(into.id)
      return await this.#changes.run(into.id, () => this.#repeated.run(() => change(this.find(into.id))))
    })
  }

  revise(nameOrId: string, { name, description, isForced = false }: PipeRevision, author: ReadScope): Promise<Pipe> {
    return this.#change(nameOrId, async (pipe) => {
      if (name === undefined && description === undefined) {
        throw errors.CHANGE_EMPTY({ expected: '"name" or "description"' })
      }
      if (description !== undefined) checkDescription(description, this.#options.descriptionLengthMax)
      const revised = { ...pipe, name: name ?? pipe.name, description: description ?? pipe.description }
      if (revised.name === pipe.name) return await this.#save(revised, pipe)
      this.#catalog.checkPipeName(revised.name)
      const mayPassOn = (): boolean => this.#mayAnswerBy(pipe, author)
      const names = { oldName: pipe.name, newName: revised.name }
      const rename = { kind: 'pipe', id: pipe.id, ...names, isForced, mayPassOn } as const
      return await this.#renames.run(rename, (readers, guard) => {
        // Its own nodes may read it too.
        const { nodes } = readers.find(({ id }) => id === pipe.id) ?? pipe
        const along = readers.filter(({ id }) => id !== pipe.id)
        return this.#save({ ...revised, nodes }, pipe, { along, guard })
      })
    })
  }

  /** Whether the author might have published the node that answers for a pipe. */
  #mayAnswerBy(pipe: Pipe, author: ReadScope): boolean {
    const node = answeringNode(pipe)
    try {
      if (node !== undefined) this.#query.checkAuthor(pipe, pipe.nodes.indexOf(node), author)
      return true
    } catch (thrown) {
      if (thrown instanceof ApiError && thrown.code === 'READ_DENIED') return false
      throw thrown
    }
  }

  async drop(nameOrId: string, { isForced }: { readonly isForced: boolean }): Promise<void> {
    await this.#change(this.#sureId(nameOrId), async (pipe) => {
      await readNames(this.list())
      const guard = (): void => {
        if (this.#catalog.findPipe(pipe.id) !== pipe) throw new StalePipeError()
        if (!isForced) this.#refuseRead(pipe, 'drop those first, or use force=true: they stay, and their queries fail')
        const advice = 'drop those first, or use force=true: they stay as they are'
        if (!isForced) this.#links.refuse(pipe.nodes, { what: `Pipe '${pipe.name}'`, advice }, pipe.nodes)
        checkFreed({ ...pipe, kind: 'pipe' }, this.#catalog)
      }
      await this.#links.drop(pipe.nodes, () => this.#catalog.removePipe(pipe.id, guard))
    })
  }

  /**
   * The pipe to drop. Where a name with a version only leads to the pipe without one, it may be meant for another: that is refused.
   * @throws PIPE_NOT_FOUND (404)
   */
  #sureId(nameOrId: string): string {
    const { id, name } = this.get(nameOrId)
    if (name === nameOrId || findResourceId(nameOrId) !== undefined) return id
    throw errors.PIPE_NOT_FOUND({ name: nameOrId, hint: dropAdvice(nameOrId, name) })
  }

  appendNode(pipeNameOrId: string, request: NodeRequest, author: ReadScope): Promise<ChangedNode> {
    return this.#change(pipeNameOrId, async (before) => {
      const start = before.nodes.length
      const pipe = await this.#checks.checked(this.#whole.withNode(before, request), { author, start })
      const targets = new Map(request.target === undefined ? [] : [[start, request.target]])
      const saved = await this.#saveLinked(pipe, { author, start, targets, before })
      return changed(saved.pipe, start, saved.reports[0])
    })
  }

  editNode(pipeNameOrId: string, nodeNameOrId: string, edit: NodeEdit, author: ReadScope): Promise<ChangedNode> {
    return this.#change(pipeNameOrId, async (before) => {
      const node = this.getNode(before, nodeNameOrId)
      const from = before.nodes.indexOf(node)
      const to = Math.min(edit.position ?? from, before.nodes.length - 1)
      const { name: newName = node.name, isForced, rights } = edit
      const deps = { catalog: this.#catalog, query: this.#query, now: this.#options.now }
      const { catalogVersion } = this.#catalog
      const isRenamed = newName !== node.name
      const named = isRenamed ? await withNodeRenamed(before, node, { newName, isForced }, deps) : before
      const nodes = movedTo(named.nodes, this.#edited(node, edit), to)
      const isChecked = edit.sql !== undefined || to !== from
      const hasOtherSql = edit.sql !== undefined && edit.sql !== node.sql
      const filling = hasOtherSql && to === from ? this.#links.madeOf(node) : []
      const isChanging = filling.length > 0 && rights !== undefined && mayChangeAll(filling, rights)
      const pipe = { ...before, nodes }
      // Those in between stand behind others than before.
      const [start, end] = [Math.min(from, to), Math.max(from, to) + 1]
      const guard = (): void => {
        // What names stood for when the rename was judged may be something else by now.
        if (isRenamed && this.#catalog.catalogVersion !== catalogVersion) throw new StalePipeError()
        if (isRenamed) {
          // Whoever asks for the right value has its rows then.
          if (isMadeBehind(pipe, to)) this.#query.checkAuthor(pipe, to, author)
          this.#checkMade(before, node, author)
        }
        // A view that is there is not changed along, so its node would tell of another query than runs.
        const what = `Node '${node.name}' of Pipe '${before.name}'`
        const isOther = to !== from || hasOtherSql
        const advice = to === from ? changeAdvice : editAdvice
        if (isOther && !isChanging) this.#links.refuse(to === from ? [node] : before.nodes, { what, advice })
      }
      const checked = isChecked ? await this.#checks.checked(pipe, { author, start, end }) : pipe
      if (rights === undefined || !isChanging) return changed(await this.#save(checked, before, { guard }), to)
      const saved = await this.#saveChanged(checked, { edited: [node], filling, author, rights }, { before, guard })
      return changed(saved.pipe, to, saved.reports[0])
    })
  }

  removeNode(pipeNameOrId: string, nodeNameOrId: string, { author, isForced }: NodeRemoval): Promise<void> {
    return this.#change(pipeNameOrId, async (pipe) => {
      const node = this.getNode(pipe, nodeNameOrId)
      if (node.id === pipe.endpointId) throw errors.NODE_PUBLISHED({ pipe: pipe.name, node: node.name })
      const nodes = pipe.nodes.filter((one) => one !== node)
      const changed = { ...pipe, nodes, updatedAt: this.#options.now() }
      const guard = (): void => {
        this.#checkAnswering(changed, pipe, author)
        this.#checkUncovered(changed, { pipe, node }, author)
        const advice = 'remove their materializations first, or use force=true: they stay as they are'
        if (!isForced)
          this.#links.refuse([node], { what: `Node '${node.name}' of Pipe '${pipe.name}'`, advice }, [node])
      }
      await this.#links.drop([node], () => this.#replace(changed, pipe, { guard, isForced }))
    })
  }

  materialize(pipeNameOrId: string, nodeNameOrId: string, order: MaterializeOrder): Promise<ChangedNode> {
    return this.#materializations.materialize(pipeNameOrId, nodeNameOrId, order)
  }

  relink(pipeNameOrId: string, nodeNameOrId: string, order: MaterializeOrder): Promise<ChangedNode> {
    return this.#materializations.relink(pipeNameOrId, nodeNameOrId, order)
  }

  dematerialize(pipeNameOrId: string, nodeNameOrId: string): Promise<ChangedNode> {
    return this.#materializations.remove(pipeNameOrId, nodeNameOrId)
  }

  analyse(pipeNameOrId: string, nodeNameOrId: string, order: MaterializeOrder): Promise<AnalysedNode> {
    return this.#materializations.analyse(this.get(pipeNameOrId), nodeNameOrId, order)
  }

  publish(pipeNameOrId: string, nodeNameOrId: string, author: ReadScope): Promise<Pipe> {
    return this.#change(pipeNameOrId, async (pipe) => {
      const { id } = expectNode(pipe, nodeNameOrId)
      if (id === pipe.endpointId) return pipe
      const published = { ...pipe, endpointId: id }
      return await this.#save(published, pipe, { guard: () => this.#checkAnswering(published, pipe, author) })
    })
  }

  unpublish(pipeNameOrId: string, nodeNameOrId: string | null, author: ReadScope): Promise<Pipe> {
    return this.#change(pipeNameOrId, async (pipe) => {
      const node = nodeNameOrId === null ? null : expectNode(pipe, nodeNameOrId)
      const isPublished = pipe.endpointId !== null && (node === null || node.id === pipe.endpointId)
      if (!isPublished) throw errors.ENDPOINT_MISSING({ pipe: pipe.name, node: node?.name ?? null })
      const unpublished = { ...pipe, endpointId: null, publishedAt: null, updatedAt: this.#options.now() }
      await this.#replace(unpublished, pipe, { guard: () => this.#checkAnswering(unpublished, pipe, author) })
      return unpublished
    })
  }

  /**
   * Whoever removes a node gives readers of those behind it what else has its name. To be called in the turn of the change.
   * @throws READ_DENIED (403)
   */
  #checkUncovered(changed: Pipe, { pipe, node }: { readonly pipe: Pipe; readonly node: PipeNode }, author: ReadScope) {
    for (const position of uncoveredNodes(changed, node.name, this.#catalog))
      this.#query.checkAuthor(changed, position, author)
    this.#checkMade(pipe, node, author)
  }

  /** Whether the author may read what else has the name of a node, where values make that name behind it. @throws READ_DENIED (403) */
  #checkMade(pipe: Pipe, node: PipeNode, author: ReadScope): void {
    if (!isMadeBehind(pipe, pipe.nodes.indexOf(node))) return
    // As a node would read it.
    const reader = { ...node, sql: sqlReading(node.name) }
    this.#query.checkAuthor({ ...pipe, nodes: [reader] }, 0, author)
  }

  /**
   * Whoever lets another node answer for a pipe gives its readers what that one reads. To be called in the turn of the change.
   * @throws READ_DENIED (403)
   */
  #checkAnswering(changed: Pipe, before: Pipe, author: ReadScope): void {
    const node = answeringNode(changed)
    if (node === undefined || node === answeringNode(before)) return
    this.#query.checkAuthor(changed, changed.nodes.indexOf(node), author)
  }

  /** Changes a pipe as it is when its turn has come. */
  async #change<Result>(nameOrId: string, change: (pipe: Pipe) => Promise<Result>): Promise<Result> {
    const { id } = this.get(nameOrId)
    const changeNow = (): Promise<Result> => {
      const pipe = this.get(id)
      const isOther = (): boolean => this.#catalog.findPipe(id) !== pipe
      return refusedAsItIs(() => change(pipe), isOther)
    }
    return await this.#changes.run(id, () => this.#repeated.run(changeNow))
  }

  /** Puts a pipe in the place of what it was a moment ago. @throws StalePipeError when that was renamed along meanwhile. */
  async #replace(pipe: Pipe, before: Pipe, { guard, along = [], isForced = false }: SaveOptions = {}): Promise<void> {
    const check = (): void => {
      if (this.#catalog.findPipe(before.id) !== before) throw new StalePipeError()
      guard?.()
      if (!isForced) this.#links.refuseOtherAnswer(before, pipe)
    }
    await this.#catalog.replacePipe(pipe, check, along)
  }

  #named(name: string): Pipe | undefined {
    const pipe = this.find(name)
    return pipe?.name === name ? pipe : undefined
  }

  #edited(node: PipeNode, edit: NodeEdit): PipeNode {
    if (edit.description !== undefined) checkDescription(edit.description, this.#options.descriptionLengthMax)
    return editedNode(node, edit, this.#options.now())
  }

  /** Writes a pipe with the views of those of its nodes that are to fill something. */
  async #saveLinked(
    checked: Pipe,
    { author, start, targets, before, dropped, ...options }: LinkedNodes & SaveOptions,
  ): Promise<LinkedPipe> {
    return await this.#links.save(checked, { targets, author }, async (views, unchanged) => {
      const guard = both(unchanged, options.guard)
      return await this.#save(this.#checks.filling(checked, views), before, { guard, dropped })
    })
  }

  /** Writes a pipe of which a node has other SQL, with the views that are made of it, of other pipes too. */
  async #saveChanged(
    checked: Pipe,
    views: ChangedViews,
    { before, guard, dropped }: Pick<SaveOptions, 'dropped' | 'guard'> & { readonly before: Pipe },
  ): Promise<LinkedPipe> {
    return await this.#links.change(checked, views, async (made) => {
      const options = { guard: both(made.guard, guard), along: made.along, dropped }
      return await this.#save(this.#checks.filling(checked, made.views), before, options)
    })
  }

  /** Writes a pipe that is new, or takes the place of `before`. */
  async #save(changed: Pipe, before?: Pipe, options: SaveOptions = {}): Promise<Pipe> {
    const pipe = withEndpoint(changed, before, this.#options)
    const saved = before === undefined ? { ...pipe } : { ...pipe, updatedAt: this.#options.now() }
    const guard = (): void => {
      options.guard?.()
      // A pipe that takes the name of what it reads would read itself, but that the name is taken says more.
      if (before !== undefined && before.name !== pipe.name) this.#catalog.checkPipeName(pipe.name)
      checkTaken(pipe.name, pipe.id, this.#catalog)
      checkAcyclic(pipe, this.#catalog)
      this.#checks.checkStill(changed, pipe)
    }
    if (before === undefined) await this.#catalog.createPipe(saved, guard)
    else await this.#links.drop(options.dropped ?? [], () => this.#replace(saved, before, { ...options, guard }))
    return saved
  }

  #refuseRead(pipe: Pipe, advice: string): void {
    const { name } = pipe
    const users = userNames(this.#readers.of(pipe.id), possibleReaders(pipe, this.#catalog))
    if (users.length > 0) throw errors.PIPE_USED({ name, users, advice })
  }
}

interface SaveOptions {
  /** Whether views that are made of what another node answered for stay as they are. */
  readonly isForced?: boolean
  /** Judged when the change's turn has come. */
  readonly guard?: () => void
  /** Pipes that change with it. */
  readonly along?: readonly Pipe[]
  /** Nodes whose views go once it is written. */
  readonly dropped?: readonly PipeNode[] | undefined
}

function both(one: () => void, other: (() => void) | undefined): () => void {
  return () => {
    other?.()
    one()
  }
}
