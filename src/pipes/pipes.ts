// Pipes and their nodes: each change is judged, then written as a whole.
//
// Invariants: a node is saved only when it was a query over what there was at that moment; later it may break, when what it
// reads goes, and then its queries fail, not its pipe. No pipe reads itself. Changes of one pipe are made one after the
// other, those of different pipes beside each other, as the engine may take seconds to judge a node. So whatever a change
// takes for granted of other pipes and of data sources is looked at once more when it is written, by a guard: the catalog
// makes one change at a time.

import type { Catalog } from '../catalog/catalog.ts'
import type { Pipe, PipeNode } from '../catalog/pipe.types.ts'
import { createPipeId } from '../catalog/pipe-id.ts'
import { outsideDependencies, PipeReaders } from '../catalog/pipe-readers.ts'
import type { Query } from '../query/query.types.ts'
import { assert } from '../shared/assert.ts'
import { ChangeQueue } from '../shared/change-queue.ts'
import { ApiError, errors } from '../shared/errors.ts'
import type { TemplateParameter } from '../template/template.types.ts'
import { mergeParameters, nodeWithOtherPipes } from './endpoint-parameters.ts'
import { parametersOf } from './node-parameters.ts'
import { checkAcyclic } from './pipe-cycle.ts'
import { checkFreeName, copiedNodes, findNode, movedTo, newNode } from './pipe-nodes.ts'
import type {
  ChangedNode,
  CopyRequest,
  NodeEdit,
  NodeRequest,
  PipeRequest,
  PipeRevision,
  Pipes,
} from './pipes.types.ts'

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

interface Neighbours {
  readonly catalog: Catalog
  readonly query: Pick<Query, 'checkNode'>
}

/** The room has nothing of its own to open or to close: the catalog keeps what there is. */
export function createPipes(options: PipesOptions, neighbours: Neighbours): Pipes {
  return new PipesRoom(options, neighbours)
}

class PipesRoom implements Pipes {
  readonly #options: PipesOptions
  readonly #catalog: Catalog
  readonly #query: Neighbours['query']
  readonly #readers: PipeReaders
  readonly #changes = new ChangeQueue()
  readonly parametersOf = parametersOf

  constructor(options: PipesOptions, { catalog, query }: Neighbours) {
    this.#options = options
    this.#catalog = catalog
    this.#query = query
    this.#readers = new PipeReaders(catalog)
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
    const nodes = nodeWithOtherPipes(pipe, node, (name) => this.find(name))
    return nodes.length === 1 ? parametersOf(node) : mergeParameters(nodes.flatMap((read) => parametersOf(read)))
  }

  list(): readonly Pipe[] {
    return this.#catalog.listPipes()
  }

  getNode(pipe: Pipe, nameOrId: string): PipeNode {
    const node = findNode(pipe, nameOrId)
    if (node === undefined) throw errors.NODE_NOT_FOUND({ pipe: pipe.name, node: nameOrId })
    return node
  }

  create({ name, description, nodes }: PipeRequest): Promise<Pipe> {
    return this.#changes.run(name, async () => {
      this.#catalog.checkPipeName(name)
      this.#checkDescription(description)
      let pipe = this.#newPipe(name, description)
      for (const request of nodes) pipe = this.#withNode(pipe, request)
      return await this.#save(await this.#checked(pipe, 0))
    })
  }

  copy(request: CopyRequest): Promise<Pipe> {
    const { name } = request
    return this.#changes.run(name, async () => {
      const into = this.#named(name)
      if (into === undefined) return await this.#copy(request, undefined)
      return await this.#changes.run(into.id, () => this.#copy(request, this.find(into.id)))
    })
  }

  revise(nameOrId: string, { name, description }: PipeRevision): Promise<Pipe> {
    return this.#change(nameOrId, async (pipe) => {
      if (name === undefined && description === undefined) {
        throw errors.CHANGE_EMPTY({ expected: '"name" or "description"' })
      }
      if (description !== undefined) this.#checkDescription(description)
      const revised = { ...pipe, name: name ?? pipe.name, description: description ?? pipe.description }
      return await this.#save(revised, pipe)
    })
  }

  drop(nameOrId: string, { isForced }: { readonly isForced: boolean }): Promise<void> {
    return this.#change(nameOrId, async (pipe) => {
      await this.#catalog.removePipe(pipe.id, () => {
        if (!isForced) this.#refuseRead(pipe, 'drop those first, or use force=true: they stay, and their queries fail')
      })
    })
  }

  appendNode(pipeNameOrId: string, request: NodeRequest): Promise<ChangedNode> {
    return this.#change(pipeNameOrId, async (before) => {
      const pipe = await this.#checked(this.#withNode(before, request), before.nodes.length)
      return changed(await this.#save(pipe, before), before.nodes.length)
    })
  }

  editNode(pipeNameOrId: string, nodeNameOrId: string, edit: NodeEdit): Promise<ChangedNode> {
    return this.#change(pipeNameOrId, async (before) => {
      const node = this.getNode(before, nodeNameOrId)
      const from = before.nodes.indexOf(node)
      const to = Math.min(edit.position ?? from, before.nodes.length - 1)
      const nodes = movedTo(before.nodes, this.#edited(before, node, edit), to)
      const isChecked = edit.sql !== undefined || to !== from
      const pipe = { ...before, nodes }
      // Those in between stand behind others than before.
      const [start, end] = [Math.min(from, to), Math.max(from, to) + 1]
      return changed(await this.#save(isChecked ? await this.#checked(pipe, start, end) : pipe, before), to)
    })
  }

  removeNode(pipeNameOrId: string, nodeNameOrId: string): Promise<void> {
    return this.#change(pipeNameOrId, async (pipe) => {
      const node = this.getNode(pipe, nodeNameOrId)
      if (node.id === pipe.endpointId) throw errors.NODE_PUBLISHED({ pipe: pipe.name, node: node.name })
      const nodes = pipe.nodes.filter((one) => one !== node)
      await this.#catalog.replacePipe({ ...pipe, nodes, updatedAt: this.#options.now() })
    })
  }

  publish(pipeNameOrId: string, nodeNameOrId: string): Promise<Pipe> {
    return this.#change(pipeNameOrId, async (pipe) => {
      const { id } = expectNode(pipe, nodeNameOrId)
      return id === pipe.endpointId ? pipe : await this.#save({ ...pipe, endpointId: id }, pipe)
    })
  }

  unpublish(pipeNameOrId: string, nodeNameOrId: string | null): Promise<Pipe> {
    return this.#change(pipeNameOrId, async (pipe) => {
      const node = nodeNameOrId === null ? null : expectNode(pipe, nodeNameOrId)
      const isPublished = pipe.endpointId !== null && (node === null || node.id === pipe.endpointId)
      if (!isPublished) throw errors.ENDPOINT_MISSING({ pipe: pipe.name, node: node?.name ?? null })
      const unpublished = { ...pipe, endpointId: null, publishedAt: null, updatedAt: this.#options.now() }
      await this.#catalog.replacePipe(unpublished)
      return unpublished
    })
  }

  /** Changes a pipe as it is when its turn has come. */
  async #change<Result>(nameOrId: string, change: (pipe: Pipe) => Promise<Result>): Promise<Result> {
    const { id } = this.get(nameOrId)
    return await this.#changes.run(id, () => change(this.get(id)))
  }

  /** @param known what had the name a moment ago, as it is now; whoever has it by now stays as he is. */
  async #copy({ name, from, description }: CopyRequest, known: Pipe | undefined): Promise<Pipe> {
    const source = this.get(from)
    const into = known?.name === name ? known : undefined
    if (into === source) {
      throw errors.PARAMETER_INVALID({ parameter: 'from', value: from, expected: 'another Pipe than "name"' })
    }
    if (into === undefined) this.#catalog.checkPipeName(name)
    if (description !== undefined) this.#checkDescription(description)
    const pipe = into ?? this.#newPipe(name, source.description)
    const nodes = copiedNodes(source, into, this.#options.now())
    const endpointName = into?.nodes.find(({ id }) => id === into.endpointId)?.name
    const copied: Pipe = {
      ...pipe,
      description: description ?? pipe.description,
      nodes,
      endpointId: nodes.find((node) => node.name === endpointName)?.id ?? null,
      parentId: source.id,
    }
    return await this.#save(await this.#checked(copied, 0), into)
  }

  #named(name: string): Pipe | undefined {
    const pipe = this.find(name)
    return pipe?.name === name ? pipe : undefined
  }

  #newPipe(name: string, description: string): Pipe {
    const now = this.#options.now()
    return {
      id: createPipeId(),
      name,
      description,
      nodes: [],
      endpointId: null,
      parentId: null,
      createdAt: now,
      updatedAt: now,
    }
  }

  /** The pipe with a node behind the others, which is not checked yet. */
  #withNode(pipe: Pipe, request: NodeRequest): Pipe {
    const { nodesMax, now } = this.#options
    if (pipe.nodes.length >= nodesMax) throw errors.NODES_TOO_MANY({ pipe: pipe.name, nodesMax })
    this.#checkDescription(request.description)
    const node = newNode(pipe, request, now())
    return { ...pipe, nodes: [...pipe.nodes, node], endpointId: request.isEndpoint ? node.id : pipe.endpointId }
  }

  /** The node as it is to be; what it reads is not known yet. */
  #edited(pipe: Pipe, node: PipeNode, { name, description, sql, position, isForced }: NodeEdit): PipeNode {
    if ([name, description, sql, position].every((value) => value === undefined)) {
      throw errors.SQL_EMPTY()
    }
    if (description !== undefined) this.#checkDescription(description)
    if (name !== undefined && name !== node.name) {
      checkFreeName(pipe, name)
      if (!isForced) refuseRenamed(pipe, node, name)
    }
    return {
      ...node,
      name: name ?? node.name,
      description: description ?? node.description,
      sql: sql ?? node.sql,
      updatedAt: this.#options.now(),
      version: node.version + Number(sql !== undefined && sql !== node.sql),
    }
  }

  /** The pipe with what its nodes from `start` to before `end` read. Raises what `checkNode` does, PIPE_TOO_LONG and NODE_INVALID (400). */
  async #checked(pipe: Pipe, start: number, end: number = pipe.nodes.length): Promise<Pipe> {
    this.#checkLength(pipe)
    const nodes = [...pipe.nodes]
    for (let position = start; position < end; position += 1) {
      const node = nodes[position]
      if (node === undefined) break
      try {
        const { dependencies } = await this.#query.checkNode({ ...pipe, nodes }, node, position)
        nodes[position] = { ...node, dependencies }
      } catch (error) {
        throw end - start === 1 ? error : ofNode(node.name, error)
      }
    }
    return { ...pipe, nodes }
  }

  /** Writes a pipe that is new, or takes the place of `before`. */
  async #save(changed: Pipe, before?: Pipe): Promise<Pipe> {
    const pipe = this.#published(changed, before)
    const saved = before === undefined ? pipe : { ...pipe, updatedAt: this.#options.now() }
    const guard = (): void => {
      if (before !== undefined && before.name !== pipe.name) {
        this.#refuseRead(before, 'let them read something else first')
        // A pipe that takes the name of what it reads would read itself, but that the name is taken says more.
        this.#catalog.checkPipeName(pipe.name)
      }
      checkAcyclic(pipe, this.#catalog)
      this.#checkSources(pipe, before)
    }
    await (before === undefined ? this.#catalog.createPipe(saved, guard) : this.#catalog.replacePipe(saved, guard))
    return saved
  }

  #published(pipe: Pipe, before: Pipe | undefined): Pipe {
    const { publishFirstNode, now } = this.#options
    const isFirst = publishFirstNode && pipe.endpointId === null && (before?.nodes.length ?? 0) === 0
    const endpointId = isFirst ? (pipe.nodes[0]?.id ?? null) : pipe.endpointId
    if (endpointId === (before?.endpointId ?? null)) return pipe
    return { ...pipe, endpointId, publishedAt: endpointId === null ? null : now() }
  }

  /** Whether what the nodes were found to read a moment ago is still there. */
  #checkSources({ nodes }: Pipe, before: Pipe | undefined): void {
    // A node that was not checked has the very list that it had, and may have been broken all along.
    const unchecked = new Set(before?.nodes.map(({ dependencies }) => dependencies))
    const looked = nodes.map((node) => (unchecked.has(node.dependencies) ? { ...node, dependencies: [] } : node))
    for (const name of outsideDependencies({ nodes: looked })) {
      // Names with a dot are those of the service's own tables.
      const isThere = name.includes('.') || this.#catalog.find(name) !== undefined || this.find(name) !== undefined
      if (!isThere) throw errors.SQL_INVALID({ reason: `Resource '${name}' not found` })
    }
  }

  #refuseRead({ name }: Pipe, advice: string): void {
    const users = this.#readers.of(name).map((pipe) => pipe.name)
    if (users.length > 0) throw errors.PIPE_USED({ name, users, advice })
  }

  #checkLength({ name, nodes }: Pipe): void {
    const bytesMax = this.#options.pipeBytesMax
    const byteCount = nodes.reduce((sum, { sql }) => sum + Buffer.byteLength(sql), 0)
    if (byteCount > bytesMax) throw errors.PIPE_TOO_LONG({ pipe: name, bytesMax })
  }

  #checkDescription(text: string): void {
    const { descriptionLengthMax } = this.#options
    if (text.length <= descriptionLengthMax) return
    throw errors.REQUEST_INVALID({ reason: `a description can have ${descriptionLengthMax} characters at most` })
  }
}

function expectNode(pipe: Pipe, nameOrId: string): PipeNode {
  const node = findNode(pipe, nameOrId)
  if (node === undefined) throw errors.NODE_UNKNOWN({ pipe: pipe.name, node: nameOrId })
  return node
}

/** Refuses a name after which a later node would read something else than now. */
function refuseRenamed({ nodes }: Pipe, node: PipeNode, newName: string): void {
  const later = nodes.slice(nodes.indexOf(node) + 1)
  const users = later.filter(({ dependencies }) => [node.name, newName].some((name) => dependencies.includes(name)))
  if (users.length === 0) return
  const advice = 'change those first, or use force=true: they stay, and may fail'
  throw errors.NODE_USED({ name: node.name, users: users.map(({ name }) => name), advice })
}

/** What is wrong with one of several nodes, under its name. */
function ofNode(node: string, thrown: unknown): unknown {
  if (!(thrown instanceof ApiError) || thrown.status !== 400) return thrown
  return errors.NODE_INVALID({ node, reason: thrown.message, cause: thrown })
}

function changed(pipe: Pipe, position: number): ChangedNode {
  const node = pipe.nodes[position]
  assert(node !== undefined, 'a node that was changed is there')
  return { pipe, node }
}
