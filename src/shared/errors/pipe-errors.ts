// What a pipe, one of its nodes or a change of them is refused for. Sorted by status.

import { formatBytes } from '../bytes.ts'
import { listText } from '../list-text.ts'
import { define } from './definition.ts'

export const pipeErrors = {
  PIPES_TOO_MANY: define({
    status: 400,
    when: 'The workspace has as many Pipes as it can have.',
    limit: () => 'pipes',
    message: ({ pipesMax }: { readonly pipesMax: number }) =>
      `There are already ${pipesMax} Pipes, the most a workspace can have; drop one first`,
  }),
  NODES_MISSING: define({
    status: 400,
    when: 'A Pipe cannot be created without a query.',
    message: () =>
      'A Pipe needs a query: send "sql", a JSON body with "nodes", or "from" with the name of another Pipe',
  }),
  NODES_TOO_MANY: define({
    status: 400,
    when: 'A Pipe has as many nodes as it can have.',
    message: ({ pipe, nodesMax }: { readonly pipe: string; readonly nodesMax: number }) =>
      `Pipe '${pipe}' can have at most ${nodesMax} nodes`,
  }),
  PIPE_TOO_LONG: define({
    status: 400,
    when: 'The nodes of a Pipe have more SQL together than a Pipe can have.',
    message: ({ pipe, bytesMax }: { readonly pipe: string; readonly bytesMax: number }) =>
      `The nodes of Pipe '${pipe}' have more than ${formatBytes(bytesMax)} of SQL together`,
  }),
  NODE_INVALID: define({
    status: 400,
    when: 'A node of a Pipe is invalid. Nothing of the request was done.',
    message: ({ node, reason }: { readonly node: string; readonly reason: string }) => `Node '${node}': ${reason}`,
  }),
  NODE_TYPE_UNSUPPORTED: define({
    status: 400,
    when: 'The type of a node, such as `materialized`, is not supported yet.',
    message: ({ type }: { readonly type: string }) =>
      `Nodes of type "${type}" are not supported yet; use standard or endpoint`,
  }),
  NODE_UNKNOWN: define({
    status: 400,
    when: 'The node to publish or to unpublish does not belong to this Pipe.',
    message: ({ pipe, node }: NodeOfPipe) => `Pipe '${pipe}' has no node '${node}'`,
    subject: ({ pipe, node }: NodeOfPipe) => [pipe, node],
  }),
  NODE_PUBLISHED: define({
    status: 400,
    when: 'A node that is published as an endpoint cannot be deleted.',
    message: ({ node }: NodeOfPipe) => `Node '${node}' is published as an endpoint; unpublish it before you delete it`,
  }),
  ENDPOINT_MISSING: define({
    status: 400,
    when: 'The node or the Pipe to unpublish is not published.',
    message: ({ pipe, node }: { readonly pipe: string; readonly node: string | null }) =>
      node === null ? `Pipe '${pipe}' has no published node` : `Node '${node}' of Pipe '${pipe}' is not published`,
  }),
  EXPLAIN_EMPTY: define({
    status: 400,
    when: 'The Pipe to explain has no nodes.',
    message: ({ name }: { readonly name: string }) => `No node could be found to explain in the pipe '${name}'`,
  }),
  PIPE_NOT_FOUND: define({
    status: 404,
    when: 'No Pipe has this name or id.',
    message: ({ name }: { readonly name: string }) => `Pipe '${name}' not found`,
    subject: ({ name }: { readonly name: string }) => [name],
  }),
  PIPE_UNKNOWN: define({
    status: 404,
    when: 'The Pipe to read or to explain does not exist.',
    message: ({ name }: { readonly name: string }) => `The pipe '${name}' does not exist`,
    subject: ({ name }) => [name],
  }),
  PIPE_UNPUBLISHED: define({
    status: 404,
    when: 'The Pipe has no published node, so there is no data to answer with.',
    message: ({ name }: { readonly name: string }) =>
      `The pipe '${name}' does not have an endpoint yet: publish one of its nodes`,
  }),
  NODE_NOT_FOUND: define({
    status: 404,
    when: 'No node of the Pipe has this name or id.',
    message: ({ pipe, node }: NodeOfPipe) => `Node '${node}' of Pipe '${pipe}' not found`,
    subject: ({ pipe, node }: NodeOfPipe) => [pipe, node],
  }),
  PIPE_EXISTS: define({
    status: 409,
    when: 'The name is taken by a Pipe.',
    message: ({ name }: { readonly name: string }) => `There is already a Pipe with name "${name}"`,
    hint: () =>
      'Choose another name, or change that Pipe: POST /v0/pipes?force=true puts all nodes that it has in the place of its own',
  }),
  PIPE_USED: define({
    status: 409,
    when: 'Other Pipes read a Pipe, so it cannot be dropped or renamed; or they read it by a name with a version, so nothing new can take that name. The message lists them.',
    message: ({ name, users, advice }: Users) => `Pipe "${name}" is used by ${listText(users)}; ${advice}`,
    withoutOthers: ({ name, advice }) => `Pipe "${name}" is used by others; ${advice}`,
  }),
  NODE_EXISTS: define({
    status: 409,
    when: 'The name is taken by another node of the Pipe.',
    message: ({ pipe, node }: NodeOfPipe) => `There is already a node with name "${node}" in Pipe "${pipe}"`,
  }),
  NODE_USED: define({
    status: 409,
    when: 'Other nodes of its Pipe read a node, so it cannot be renamed. The message lists them.',
    message: ({ name, users, advice }: Users) => `Node "${name}" is used by ${listText(users)}; ${advice}`,
    withoutOthers: ({ name, advice }) => `Node "${name}" is used by others; ${advice}`,
  }),
}

interface NodeOfPipe {
  readonly pipe: string
  readonly node: string
}

interface Users {
  readonly name: string
  readonly users: readonly string[]
  /** What to do about it, without a full stop. */
  readonly advice: string
}
