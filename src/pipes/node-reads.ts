// What a node reads itself, by what its names stand for now.
//
// A node keeps names. A name is the resource that has it, and not the earlier node that hides this one, where the SQL goes by an
// id, a version or the quarantine. So where a name may be either, the SQL tells.

import type { Pipe, PipeNode } from '../catalog/pipe.types.ts'
import { quarantineSuffix } from '../catalog/quarantine-name.ts'
import { branchReads, namedInNode } from '../query/branch-reads.ts'
import type { ReadCatalog } from './read-catalog.types.ts'
import type { Rename } from './rename-nodes.ts'

/** One of a node's dependencies with what it stands for; a name that an id is read beside stands for two. */
export interface NodeRead {
  /** As `dependencies` name it. */
  readonly name: string
  /** Of the data source, the pipe or the earlier node; who reads a quarantine reads its data source. */
  readonly id: string
}

/** In the order of the node's dependencies; what stands for nothing is left out. */
export function nodeReads(pipe: Pipe, position: number, catalog: ReadCatalog): readonly NodeRead[] {
  const { dependencies = [] } = pipe.nodes[position] ?? {}
  return dependencies.flatMap((name) => {
    return readIds(name, { pipe, position, catalog }).map((id) => ({ name, id }))
  })
}

/** The ids of the data sources and pipes that the nodes of a pipe read, and of those of its nodes that others read. */
export function readsOfPipe(pipe: Pipe, catalog: ReadCatalog): ReadonlySet<string> {
  const reads = pipe.nodes.flatMap((_, position) => nodeReads(pipe, position, catalog))
  return new Set(reads.map(({ id }) => id))
}

/** The names that a node reads when what it reads under an old one has a new one; what else it reads under that keeps it. */
export function dependenciesAfter(
  names: readonly string[],
  reads: readonly NodeRead[],
  { id, oldName, newName }: Rename,
): readonly string[] {
  if (!reads.some((read) => read.id === id)) return names
  const after = names.flatMap((name) => {
    const ids = reads.flatMap((read) => (read.name === name ? [read.id] : []))
    const isOld = name === oldName || name === `${oldName}${quarantineSuffix}`
    if (!isOld || !ids.includes(id)) return [name]
    const renamed = `${newName}${name.slice(oldName.length)}`
    return ids.length > 1 ? [renamed, name] : [renamed]
  })
  return [...new Set(after)]
}

const idDigits = /[0-9a-f]{32}/

interface Search {
  readonly pipe: Pipe
  readonly position: number
  readonly catalog: ReadCatalog
}

function readIds(name: string, search: Search): readonly string[] {
  const { pipe, position, catalog } = search
  const owner = catalog.findPipe(name) ?? catalog.find(name)
  const setAside = name.endsWith(quarantineSuffix) ? catalog.find(name.slice(0, -quarantineSuffix.length)) : undefined
  const candidates = [earlierNode(pipe, position, name), owner, setAside]
  const ids = new Set(candidates.flatMap((found) => (found === undefined ? [] : [found.id])))
  if (ids.size < 2) return [...ids]
  const written = new Set(writtenIds(name, search))
  const certain = [...ids].filter((id) => written.has(id))
  if (certain.length > 0) return certain
  // A template makes the name when it runs: of an id, whatever it may be is kept, else of a name.
  return idDigits.test(pipe.nodes[position]?.sql ?? '') ? [...ids] : [...ids].slice(0, 1)
}

function earlierNode({ nodes }: Pipe, position: number, name: string): PipeNode | undefined {
  const index = nodes.findIndex((node) => node.name === name)
  return index < position ? nodes[index] : undefined
}

function writtenIds(name: string, { pipe, position, catalog }: Search): readonly string[] {
  const node = pipe.nodes[position]
  if (node === undefined) return []
  const { tables, possible } = namedInNode(node)
  const reads = branchReads(catalog, pipe, position, [...tables, ...possible])
  return reads.flatMap((read) => (read.name === name ? [read.resourceId] : []))
}
