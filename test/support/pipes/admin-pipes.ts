import { adminScope } from '../../../src/access/admin-scope.ts'
import type { Pipe } from '../../../src/catalog/pipe.types.ts'
import type {
  ChangedNode,
  CopyRequest,
  NodeEdit,
  NodeRequest,
  PipeRequest,
  Pipes,
} from '../../../src/pipes/pipes.types.ts'

/** Pipes whose authors may all read everything. */
export interface AdminPipes
  extends Omit<
    Pipes,
    'create' | 'replace' | 'copy' | 'appendNode' | 'editNode' | 'removeNode' | 'publish' | 'unpublish'
  > {
  create(request: PipeRequest): Promise<Pipe>
  copy(request: CopyRequest): Promise<Pipe>
  appendNode(pipe: string, request: NodeRequest): Promise<ChangedNode>
  editNode(pipe: string, node: string, edit: NodeEdit): Promise<ChangedNode>
  removeNode(pipe: string, node: string): Promise<void>
  publish(pipe: string, node: string): Promise<Pipe>
  unpublish(pipe: string, node: string | null): Promise<Pipe>
}

export function asAdmin(pipes: Pipes): AdminPipes {
  return {
    find: (pipe) => pipes.find(pipe),
    get: (pipe) => pipes.get(pipe),
    list: () => pipes.list(),
    getNode: (pipe, node) => pipes.getNode(pipe, node),
    parametersOf: (node) => pipes.parametersOf(node),
    parametersWithPipes: (pipe, node) => pipes.parametersWithPipes(pipe, node),
    readsOf: (pipe) => pipes.readsOf(pipe),
    possibleDependencies: (pipe, node) => pipes.possibleDependencies(pipe, node),
    create: async (request) => (await pipes.create(request, adminScope)).pipe,
    copy: (request) => pipes.copy(request, adminScope),
    revise: (pipe, revision) => pipes.revise(pipe, revision, adminScope),
    drop: (pipe, options) => pipes.drop(pipe, options),
    appendNode: (pipe, request) => pipes.appendNode(pipe, request, adminScope),
    editNode: (pipe, node, edit) => pipes.editNode(pipe, node, edit, adminScope),
    removeNode: (pipe, node) => pipes.removeNode(pipe, node, { author: adminScope, isForced: false }),
    materialize: (pipe, node, order) => pipes.materialize(pipe, node, order),
    relink: (pipe, node, order) => pipes.relink(pipe, node, order),
    dematerialize: (pipe, node) => pipes.dematerialize(pipe, node),
    analyse: (pipe, node, order) => pipes.analyse(pipe, node, order),
    publish: (pipe, node) => pipes.publish(pipe, node, adminScope),
    unpublish: (pipe, node) => pipes.unpublish(pipe, node, adminScope),
  }
}
