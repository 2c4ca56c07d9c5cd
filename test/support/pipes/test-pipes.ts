// Pipes over a real catalog, with a check of nodes that knows names alone: `a, b` reads a and b.

import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Test } from 'tap'
import { adminScope } from '../../../src/access/admin-scope.ts'
import type { Catalog } from '../../../src/catalog/catalog.ts'
import { PipeReaders } from '../../../src/pipes/pipe-readers.ts'
import { createPipes } from '../../../src/pipes/pipes.ts'
import { RepeatedChanges } from '../../../src/pipes/repeated-changes.ts'
import type { CheckNode } from '../../../src/query/check-node.ts'
import { createNodeComparison } from '../../../src/query/node-ways.ts'
import { TemplateCache } from '../../../src/query/template-cache.ts'
import type { ReadPipe } from '../../../src/query/workspace.types.ts'
import { errors } from '../../../src/shared/errors/errors.ts'
import { openTestCatalog, temporaryDirectory } from '../catalog/test-catalog.ts'
import { type AdminPipes, asAdmin } from './admin-pipes.ts'
import { namesRead } from './pipe-model.ts'

export interface OpenedPipes {
  readonly catalog: Catalog
  readonly pipes: AdminPipes
  readonly readers: PipeReaders
  readonly clock: { nowMs: number }
  /** What is done, once each, after a node was found right and before it is saved. */
  readonly beforeCheck: (() => Promise<unknown>)[]
  /** Turns of the event loop that the next checks take; none when it is empty. */
  readonly delays: number[]
  readonly close: () => Promise<void>
}

export async function openTestPipes(t: Test, catalog?: Catalog): Promise<OpenedPipes> {
  if (catalog === undefined) return await openPipesAt(t, join(temporaryDirectory(t), 'catalog.lmdb'))
  return pipesOver(catalog, async () => {})
}

export async function openPipesAt(t: Test, path: string): Promise<OpenedPipes> {
  const { catalog, close } = await openTestCatalog(t, { path })
  return pipesOver(catalog, close)
}

function pipesOver(catalog: Catalog, close: () => Promise<void>): OpenedPipes {
  const clock = { nowMs: 0 }
  const beforeCheck: (() => Promise<unknown>)[] = []
  const delays: number[] = []
  const dependenciesOf = (pipe: ReadPipe, position: number, sql: string): readonly string[] => {
    const earlier = pipe.nodes.slice(0, position).map(({ name }) => name)
    const dependencies = namesRead({ sql }).map((name) => catalog.find(name)?.name ?? name)
    for (const name of dependencies) {
      const isKnown = earlier.includes(name) || catalog.find(name) !== undefined || catalog.findPipe(name) !== undefined
      if (!isKnown) throw errors.SQL_INVALID({ reason: `Resource '${name}' not found` })
    }
    return dependencies
  }
  const checkNode: CheckNode = async (pipe, { sql }, position) => {
    const dependencies = dependenciesOf(pipe, position, sql)
    await beforeCheck.shift()?.()
    for (let turns = delays.shift() ?? 0; turns > 0; turns -= 1) await nextTurn()
    return { dependencies, columns: null, parameters: [] }
  }
  const findServiceSource = () => undefined
  const comparison = { database: 'ws', templates: new TemplateCache(), findServiceSource, serviceScope: adminScope }
  const compareNode = createNodeComparison(comparison)
  const options = {
    nodesMax: 10,
    pipeBytesMax: 1_000,
    descriptionLengthMax: 100,
    publishFirstNode: false,
    now: () => clock.nowMs,
  }
  const query = {
    ...{ checkNode, checkAuthor: () => undefined, compareNode },
    namesRead: (pipe: ReadPipe, position: number) => dependenciesOf(pipe, position, pipe.nodes[position]?.sql ?? ''),
  }
  const pipes = asAdmin(createPipes(options, { catalog, changes: new RepeatedChanges(), query }))
  return { catalog, pipes, readers: new PipeReaders(catalog), clock, beforeCheck, delays, close }
}
