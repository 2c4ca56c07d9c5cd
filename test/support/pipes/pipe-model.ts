/** One change of a workspace; resources and nodes are told by name. */
export type Change = WorkspaceChange | PipeChange

type WorkspaceChange =
  | { readonly kind: 'addSource' | 'dropSource'; readonly name: string }
  | { readonly kind: 'renameSource'; readonly name: string; readonly to: string }
  | { readonly kind: 'create'; readonly name: string; readonly nodes: readonly (readonly [string, string])[] }
  | { readonly kind: 'copy'; readonly name: string; readonly from: string }

/** Of a pipe that there is. */
type PipeChange =
  | { readonly kind: 'rename'; readonly name: string; readonly to: string }
  | { readonly kind: 'drop'; readonly name: string; readonly isForced: boolean }
  | ({ readonly kind: 'append'; readonly sql: string; readonly isEndpoint: boolean } & NodeName)
  | NodeChange

/** Of a node that there is. */
type NodeChange =
  | ({ readonly kind: 'edit'; readonly sql: string } & NodeName)
  | ({ readonly kind: 'renameNode'; readonly to: string } & NodeName)
  | ({ readonly kind: 'remove' | 'publish' | 'unpublish' } & NodeName)

interface NodeName {
  readonly name: string
  readonly node: string
}

export interface PlainNode {
  readonly name: string
  readonly sql: string
}

interface PlainPipe {
  readonly name: string
  readonly nodes: readonly PlainNode[]
  /** The name of the published node. */
  readonly endpoint: string | null
}

/** Pipes as plain lists, with the rules written down once more and without any cleverness. */
export class Model {
  sources: readonly string[] = []
  pipes: readonly PlainPipe[] = []

  plain() {
    return { sources: [...this.sources].sort(), pipes: this.pipes }
  }

  /** What is expected of the change: `done`, or the code of its refusal. */
  apply(change: Change): string {
    const { name } = change
    const pipe = this.pipes.find((one) => one.name === name)
    const isSource = this.sources.includes(name)
    switch (change.kind) {
      case 'addSource':
        if (this.taken(name) !== null) return String(this.taken(name))
        this.sources = [...this.sources, name]
        return 'done'
      case 'dropSource':
        if (!isSource) return 'DATASOURCE_NOT_FOUND'
        this.sources = this.sources.filter((one) => one !== name)
        return 'done'
      case 'renameSource':
        if (!isSource) return 'DATASOURCE_NOT_FOUND'
        if (this.usersOf(name).length > 0) return 'DATASOURCE_USED'
        if (change.to !== name && this.taken(change.to) !== null) return String(this.taken(change.to))
        this.sources = this.sources.map((one) => (one === name ? change.to : one))
        return 'done'
      case 'create':
        return this.create(name, change.nodes)
      case 'copy':
        return this.copy(name, change.from)
      default:
        return pipe === undefined ? 'PIPE_NOT_FOUND' : this.change(pipe, change)
    }
  }

  create(name: string, nodes: readonly (readonly [string, string])[]): string {
    if (this.taken(name) !== null) return String(this.taken(name))
    if (new Set(nodes.map(([node]) => node)).size < nodes.length) return 'NODE_EXISTS'
    const made = { name, nodes: nodes.map(([node, sql]) => ({ name: node, sql })), endpoint: null }
    const isRight = made.nodes.every((_, index) => this.isReadable(made, index))
    if (!isRight) return nodes.length === 1 ? 'SQL_INVALID' : 'NODE_INVALID'
    return this.keep(made, null)
  }

  copy(name: string, from: string): string {
    const source = this.pipes.find((one) => one.name === from)
    const into = this.pipes.find((one) => one.name === name) ?? null
    if (source === undefined) return 'PIPE_NOT_FOUND'
    if (source === into) return 'PARAMETER_INVALID'
    if (into === null && this.taken(name) !== null) return String(this.taken(name))
    const keepsEndpoint = source.nodes.some((node) => node.name === into?.endpoint)
    const copied = { name, nodes: source.nodes, endpoint: keepsEndpoint ? (into?.endpoint ?? null) : null }
    const isRight = copied.nodes.every((_, index) => this.isReadable(copied, index))
    if (!isRight) return copied.nodes.length === 1 ? 'SQL_INVALID' : 'NODE_INVALID'
    return this.keep(copied, into)
  }

  change(pipe: PlainPipe, change: PipeChange): string {
    if (change.kind === 'rename') {
      if (change.to !== pipe.name && this.usersOf(pipe.name).length > 0) return 'PIPE_USED'
      // A pipe that takes the name of what it reads would close a cycle, but the taken name shows first.
      if (change.to !== pipe.name && this.taken(change.to) !== null) return String(this.taken(change.to))
      const renamed = { ...pipe, name: change.to }
      if (this.hasCycle(renamed, pipe)) return 'SQL_INVALID'
      return this.keep(renamed, pipe)
    }
    if (change.kind === 'drop') {
      if (!change.isForced && this.usersOf(pipe.name).length > 0) return 'PIPE_USED'
      this.pipes = this.pipes.filter((one) => one !== pipe)
      return 'done'
    }
    const node = pipe.nodes.find((one) => one.name === change.node)
    if (change.kind === 'append') {
      if (node !== undefined) return 'NODE_EXISTS'
      const nodes = [...pipe.nodes, { name: change.node, sql: change.sql }]
      const grown = { ...pipe, nodes, endpoint: change.isEndpoint ? change.node : pipe.endpoint }
      return this.isReadable(grown, pipe.nodes.length) ? this.keep(grown, pipe) : 'SQL_INVALID'
    }
    const isOfEndpoint = change.kind === 'publish' || change.kind === 'unpublish'
    if (node === undefined) return isOfEndpoint ? 'NODE_UNKNOWN' : 'NODE_NOT_FOUND'
    return this.changeNode(pipe, node, change)
  }

  changeNode(pipe: PlainPipe, node: PlainNode, change: NodeChange): string {
    const index = pipe.nodes.indexOf(node)
    switch (change.kind) {
      case 'edit': {
        const edited = { ...pipe, nodes: pipe.nodes.with(index, { ...node, sql: change.sql }) }
        return this.isReadable(edited, index) ? this.keep(edited, pipe) : 'SQL_INVALID'
      }
      case 'renameNode': {
        if (change.to !== node.name) {
          if (pipe.nodes.some((one) => one.name === change.to)) return 'NODE_EXISTS'
          const later = pipe.nodes.slice(index + 1).flatMap(namesRead)
          if (later.includes(node.name) || later.includes(change.to)) return 'NODE_USED'
        }
        const endpoint = pipe.endpoint === node.name ? change.to : pipe.endpoint
        return this.keep({ ...pipe, nodes: pipe.nodes.with(index, { ...node, name: change.to }), endpoint }, pipe)
      }
      case 'remove':
        if (pipe.endpoint === node.name) return 'NODE_PUBLISHED'
        return this.put({ ...pipe, nodes: pipe.nodes.toSpliced(index, 1) }, pipe)
      case 'publish':
        return pipe.endpoint === node.name ? 'done' : this.keep({ ...pipe, endpoint: node.name }, pipe)
      case 'unpublish':
        if (pipe.endpoint !== node.name) return 'ENDPOINT_MISSING'
        return this.put({ ...pipe, endpoint: null }, pipe)
    }
  }

  /** The code of the refusal of a name that is taken, or null. */
  taken(name: string): string | null {
    if (this.sources.includes(name)) return 'DATASOURCE_EXISTS'
    return this.pipes.some((pipe) => pipe.name === name) ? 'PIPE_EXISTS' : null
  }

  /** Whether every name in a node is an earlier node's, a data source's or another pipe's. */
  isReadable(pipe: PlainPipe, index: number): boolean {
    const node = pipe.nodes[index]
    const earlier = pipe.nodes.slice(0, index).map((one) => one.name)
    const known = [...earlier, ...this.sources, ...this.pipes.map((one) => one.name)]
    return node !== undefined && namesRead(node).every((name) => known.includes(name))
  }

  usersOf(name: string): readonly PlainPipe[] {
    return this.pipes.filter(({ nodes }) =>
      nodes.some((node, index) => {
        const isNode = nodes.slice(0, index).some((one) => one.name === name)
        return !isNode && namesRead(node).includes(name)
      }),
    )
  }

  /** Keeps a pipe that does not read itself. */
  keep(pipe: PlainPipe, before: PlainPipe | null): string {
    return this.hasCycle(pipe, before) ? 'SQL_INVALID' : this.put(pipe, before)
  }

  put(pipe: PlainPipe, before: PlainPipe | null): string {
    this.pipes = before === null ? [...this.pipes, pipe] : this.pipes.map((one) => (one === before ? pipe : one))
    return 'done'
  }

  /** Follows every way out of the pipe's nodes, as far as there are nodes. */
  hasCycle(pipe: PlainPipe, before: PlainPipe | null): boolean {
    const pipes = [...this.pipes.filter((one) => one !== before && one.name !== pipe.name), pipe]
    const leads = (inPipe: PlainPipe, index: number, way: readonly string[]): boolean => {
      const here = `${inPipe.name}/${index}`
      if (way.includes(here)) return true
      const current = inPipe.nodes[index]
      return (current === undefined ? [] : namesRead(current)).some((name) => {
        const earlier = inPipe.nodes.slice(0, index).findIndex((one) => one.name === name)
        if (earlier !== -1) return leads(inPipe, earlier, [...way, here])
        const other = pipes.find((one) => one.name === name)
        if (other === undefined || other.nodes.length === 0) return false
        const endpoint = other.nodes.findIndex((one) => one.name === other.endpoint)
        return leads(other, endpoint === -1 ? other.nodes.length - 1 : endpoint, [...way, here])
      })
    }
    return pipe.nodes.some((_, index) => leads(pipe, index, []))
  }
}

/** The names that a node reads: its SQL is a list of them, or reads one. */
export function namesRead({ sql }: Pick<PlainNode, 'sql'>): readonly string[] {
  return sql === '' ? [] : sql.replace('SELECT 1 FROM ', '').split(', ')
}
