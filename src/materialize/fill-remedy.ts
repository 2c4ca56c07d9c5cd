// What whoever looks after a view can do so that its target has all that the view makes of what there is: the requests that its place among other
// views allows.

import type { DataSource } from '../catalog/data-source.types.ts'
import { branchesOf, materializedNodes } from '../catalog/node-views.ts'
import type { MaterializedNode, NodeView, Pipe } from '../catalog/pipe.types.ts'
import { findEngineName, isMergeTree } from '../schema/engines/engine-options.ts'

interface Workspace {
  readonly pipes: readonly Pipe[]
  readonly find: (id: string) => Pick<DataSource, 'engine'> | undefined
}

/** A clause that can stand after a colon, or after "then". */
export function fillRemedy(one: MaterializedNode, { pipes, find }: Workspace): string {
  const whole = one.node.view ?? one.view
  const own = new Set<string>(branchesOf(whole).map(({ id }) => id))
  const others = materializedNodes(pipes).filter(({ view }) => !own.has(view.id))
  if (!branchesOf(whole).every(({ sourceId }) => isKept(sourceId, find))) {
    return 'send the rows that it lacks again, as what it reads keeps none'
  }
  const isShared = others.some(({ view }) => view.targetId === whole.targetId)
  const isRead = others.some(({ view }) => view.sourceId === whole.targetId)
  if (isShared) return `${replaceSource}, as other Materialized Views fill its Data Source too`
  if (!isRead) return `POST ${nodePath(one)}/population?truncate=true`
  const repaired = `POST ${nodePath(one)}/repair?force=true, which makes the Materialized Views behind it incomplete, each with a remedy of its own`
  return canBeRepaired(whole, find) ? `${repaired}; or ${replaceSource}` : replaceSource
}

/** How a view can be had to lack nothing any more: sentences. */
export function behindRemedy(one: MaterializedNode, workspace: Workspace): string {
  const { behind } = one.view
  const path = nodePath(one)
  const fill = fillRemedy(one, workspace)
  if (behind === undefined) return ''
  if (behind.place !== null) {
    return `Remove what it fails at, then POST ${path}/catch_up. If it can never take the block: PUT ${path} with other SQL, then ${fill}.`
  }
  if (behind.isParked) return `Remove what it fails at, then POST ${path}/catch_up, then ${fill}.`
  return `${fill.charAt(0).toUpperCase()}${fill.slice(1)}.`
}

const replaceSource = 'replace the content of what it reads (POST /v0/datasources?mode=replace)'

/** As requests name a node. */
function nodePath({ pipe, node }: Pick<MaterializedNode, 'node' | 'pipe'>): string {
  return `/v0/pipes/${pipe.name}/nodes/${node.name}`
}

/** A repair makes anew what one SELECT has made. */
function canBeRepaired({ more, targetId }: NodeView, find: Workspace['find']): boolean {
  return more === undefined && isKept(targetId, find)
}

function isKept(id: string, find: Workspace['find']): boolean {
  const name = findEngineName(find(id)?.engine.name ?? '')
  return name !== undefined && isMergeTree(name)
}
