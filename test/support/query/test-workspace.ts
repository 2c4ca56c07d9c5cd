import type { DataSourceId } from '../../../src/catalog/data-source.types.ts'
import type { NodeId, Pipe, PipeId, PipeNode } from '../../../src/catalog/pipe.types.ts'
import { splitVersion } from '../../../src/catalog/versioned-name.ts'
import type { ReadDataSource, WorkspaceReader } from '../../../src/query/workspace.types.ts'
import { parseSchema } from '../../../src/schema/columns/schema-parser.ts'

/** A workspace in memory. Ids are made of names, so that a test can tell them. */
export class TestWorkspace implements WorkspaceReader {
  readonly #dataSources: ReadDataSource[] = []
  readonly #pipes: Pipe[] = []
  catalogVersion = 1

  addDataSource(name: string, schema: string, engine = 'MergeTree'): ReadDataSource {
    const source = {
      id: idOf<DataSourceId>(name),
      name,
      columns: parseSchema(schema, { columnsMax: 100 }),
      engine: { name: engine, options: {} },
    }
    this.#dataSources.push(source)
    this.catalogVersion += 1
    return source
  }

  /** A pipe of these nodes, in the place of one with its name; `endpoint` is the name of the published one. */
  addPipe(name: string, nodes: Readonly<Record<string, string>>, endpoint?: string): Pipe {
    const list = Object.entries(nodes).map(([nodeName, sql]) => createNode(`${name}.${nodeName}`, nodeName, sql))
    const endpointId = list.find((node) => node.name === endpoint)?.id ?? null
    const times = { createdAt: 0, updatedAt: 0 }
    const pipe = { id: idOf<PipeId>(name), name, description: '', nodes: list, endpointId, parentId: null, ...times }
    const before = this.#pipes.findIndex((other) => other.name === name)
    this.#pipes.splice(before < 0 ? this.#pipes.length : before, before < 0 ? 0 : 1, pipe)
    this.catalogVersion += 1
    return pipe
  }

  find(nameOrId: string): ReadDataSource | undefined {
    return this.#find(this.#dataSources, nameOrId)
  }

  list(): readonly ReadDataSource[] {
    return this.#dataSources
  }

  listPipes(): readonly Pipe[] {
    return this.#pipes
  }

  findPipe(nameOrId: string): Pipe | undefined {
    return this.#find(this.#pipes, nameOrId)
  }

  #find<Named extends { readonly name: string; readonly id: string }>(all: readonly Named[], nameOrId: string) {
    const isTaken = [...this.#dataSources, ...this.#pipes].some(({ name, id }) => name === nameOrId || id === nameOrId)
    const meant = isTaken ? nameOrId : (splitVersion(nameOrId)?.base ?? nameOrId)
    return all.find(({ name, id }) => name === meant || id === meant)
  }
}

function createNode(key: string, name: string, sql: string): PipeNode {
  const times = { createdAt: 0, updatedAt: 0 }
  return { id: idOf<NodeId>(key), name, description: '', sql, dependencies: [], ...times, version: 1 }
}

/** `t_` and 32 hex digits, as the catalog makes them. */
export function idOf<Id extends string>(name: string): Id {
  const hex = Buffer.from(name).toString('hex').padEnd(32, '0').slice(0, 32)
  // Only the catalog makes ids; this one has their form.
  return `t_${hex}` as Id
}
