/**
 * One data source, views behind it that fail as the test says, and those who park them, without an engine: what each view has taken is a set of
 * blocks. All that the engine and the catalog do takes a number of turns that a seed chooses, or waits for the test.
 */

import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import type { Test } from 'tap'
import type { NodeView, Pipe } from '../../../src/catalog/pipe.types.ts'
import { KeptBlocks } from '../../../src/ingest/events/kept-blocks.ts'
import { KeptEvents } from '../../../src/ingest/events/kept-events.ts'
import type { NamedBlock } from '../../../src/ingest/insert/block.types.ts'
import type { BehindDeps } from '../../../src/materialize/behind/behind.types.ts'
import { InsertsUnderWay } from '../../../src/materialize/behind/inserts-under-way.ts'
import { openKeptImports } from '../../../src/materialize/behind/kept-imports.ts'
import { ViewsBehind } from '../../../src/materialize/behind/views-behind.ts'
import { AppendGate } from '../../../src/store/append-gate.ts'
import { appendForViews } from '../../../src/store/embedded/append-for-views.ts'
import { qualified } from '../../../src/store/sql/qualified.ts'
import type { AppendRequest } from '../../../src/store/store.types.ts'
import { StoreError } from '../../../src/store/store-error.ts'
import { toSequence } from '../../../src/wal/sequence.ts'
import type { SeededRandom } from '../seeded-random.ts'
import { MemoryStorage } from '../storage/memory-storage.ts'
import { createTestDirectory, silentLogger } from '../store/test-store.ts'

export const sourceId = `t_${'0'.repeat(32)}`
const viewFailuresMax = 2
const turnsMax = 6

/** The id of the view with this number. */
export function viewOf(number: number): string {
  return `v_${String(number).padStart(32, '0')}`
}

function pipeOf(number: number): Pipe {
  const id = viewOf(number)
  const ids = { targetId: `t_${String(number).padStart(32, '0')}`, otherIds: [], nodeIds: [] }
  const view = { id, sourceId, ...ids, columns: [], select: `SELECT id FROM ${qualified(sourceId)}` }
  // No more is read of it.
  return { id: `pipe_${id}`, name: `p${number}`, nodes: [{ id: `node_${id}`, name: 'n', view }] } as unknown as Pipe
}

/** A step that waits for the test. */
export interface HeldStep {
  readonly isReached: Promise<void>
  release(): void
}

export class ParkedWorld {
  readonly behind: ViewsBehind
  /** Views that fail at any block. */
  readonly failing = new Set<string>()
  /** What the next import ends by behind the data source, before its views have it. */
  ending: unknown = null
  /** What the catalog cannot be written by. */
  writeFault: Error | null = null
  /** Asked before a block is repeated for a view; says whether the data source is closed to INSERTs then. */
  onRepeat: (isClosed: boolean) => Promise<void> = async () => undefined
  /** What a clock that is never set back says. */
  steadyMs = 0
  /** Parts that have come since any moment. */
  partsSince = 1
  /** Blocks of the data source, and those that each view has taken. */
  readonly stored = new Set<string>()
  readonly taken: ReadonlyMap<string, Set<string>>
  readonly #random: SeededRandom
  readonly #gate = new AppendGate()
  /** The table whose blocks each view of the engine sees. */
  readonly #seen = new Map<string, string>()
  readonly #held = new Map<string, { reach(): void; readonly released: Promise<void> }>()
  readonly #kept: KeptBlocks
  readonly #deps: BehindDeps
  readonly #newPartPath: () => string
  readonly #underWayPath: string
  #pipes: readonly Pipe[]
  #lastWrite = Promise.resolve()
  #sequence = 0
  #outstanding: number | null = null

  private constructor(viewCount: number, random: SeededRandom, kept: Pick<BehindDeps, 'imports'> & PartPaths) {
    this.#random = random
    this.#newPartPath = kept.newPartPath
    this.#underWayPath = kept.underWayPath
    const numbers = Array.from({ length: viewCount }, (_, index) => index + 1)
    this.#pipes = numbers.map(pipeOf)
    this.taken = new Map(numbers.map((number) => [viewOf(number), new Set<string>()]))
    for (const number of numbers) this.#seen.set(viewOf(number), sourceId)
    this.#kept = new KeptBlocks({ bytesMax: Number.MAX_SAFE_INTEGER, onBeyond: () => undefined })
    const events = new KeptEvents({
      kept: this.#kept,
      // No more is read of it.
      sources: { find: () => ({ firstOutstanding: this.#outstanding, status: { failure: null } }) } as never,
      blocks: { repeat: ({ block, table }) => this.#insert(table, block.blockId) },
      load: async (sequences) => sequences.map(() => ({}) as never),
      nextSequence: () => toSequence(this.#sequence + 1),
    })
    const underWay = new InsertsUnderWay(kept.underWayPath, [], { store: kept })
    const others = {
      gate: this.#gate,
      kept: () => events,
      imports: kept.imports,
      underWay,
      now: () => 1,
      steadyMs: () => this.steadyMs,
    }
    // Each is as far as it is used.
    this.#deps = { catalog: this.#catalog(), store: this.#store(), ...others, logger: silentLogger } as never
    this.behind = new ViewsBehind({ views: 'isolated' }, this.#deps)
  }

  static async open(t: Test, viewCount: number, random: SeededRandom): Promise<ParkedWorld> {
    const directory = await createTestDirectory()
    t.teardown(() => directory.remove())
    await mkdir(join(directory.path, 'parts'))
    let count = 0
    const newPartPath = (): string => {
      count += 1
      return join(directory.path, 'parts', `${count}.arrow`)
    }
    const options = { dataDir: directory.path, viewsBacklogImportBytesMax: Number.MAX_SAFE_INTEGER }
    const deps = { storage: new MemoryStorage(), store: { newPartPath }, logger: silentLogger }
    const imports = await openKeptImports(options, deps)
    const underWayPath = join(directory.path, 'under-way')
    await mkdir(underWayPath)
    const world = new ParkedWorld(viewCount, random, { imports, newPartPath, underWayPath })
    t.teardown(() => world.behind.close(10_000))
    return world
  }

  /** The next step of this name waits for the test: `append <table or twin>`, `drop <view>`, `create <view>`, `sync` or `write`. */
  hold(name: string): HeldStep {
    let [reach, release] = [(): void => undefined, (): void => undefined]
    const isReached = new Promise<void>((resolve) => {
      reach = resolve
    })
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    this.#held.set(name, { reach, released })
    return { isReached, release }
  }

  /** An import of one block, to its end; true when all views have it. */
  async import(blockId: string): Promise<boolean> {
    const path = this.#newPartPath()
    await writeFile(path, blockId)
    const request: AppendRequest = {
      ...{ table: sourceId, layout: { fields: [], targets: [] }, parts: [], rowCount: 1, blockId },
      outlivesViews: true,
    }
    const views = { gate: this.#gate, keeper: this.behind.importKeeper }
    try {
      await appendForViews({ request, paths: [path] }, views, async ({ onBegun, passesViews }) => {
        onBegun?.()
        const { ending } = this
        this.ending = null
        if (ending === null) return await this.#insert(sourceId, blockId, passesViews)
        if (this.partsSince > 0) this.stored.add(blockId)
        throw ending
      })
      return true
    } catch (thrown) {
      if (thrown instanceof StoreError && thrown.areRowsStored) return false
      throw thrown
    }
  }

  /** A block of events, until it is stored. Precondition: none is under way. */
  async event(blockId: string): Promise<void> {
    this.#sequence += 1
    const sequences = [toSequence(this.#sequence)]
    const block: NamedBlock = { blockId, sequences, setAside: [], beyond: [], loggedBytes: 1, namedAtMs: 1 }
    this.#outstanding = this.#sequence
    for (let count = 1; this.#outstanding !== null; count += 1) {
      const failure = await this.#tryEvent(block)
      if (failure !== null && count >= viewFailuresMax) await this.behind.setAside(sourceId, failure)
    }
  }

  async #tryEvent(block: NamedBlock): Promise<unknown> {
    const leave = await this.#gate.enter(sourceId)
    try {
      await this.#insert(sourceId, block.blockId)
      this.#kept.noteStored(sourceId, block)
      this.#outstanding = null
      return null
    } catch (thrown) {
      return thrown
    } finally {
      leave()
    }
  }

  /** What the views lack that are told to have all. */
  get lost(): readonly string[] {
    const behind = new Set<string>(this.behind.of(sourceId).map(({ node }) => node.view.id))
    return [...this.taken].flatMap(([view, taken]) => {
      if (behind.has(view)) return []
      return [...this.stored].filter((block) => !taken.has(block)).map((block) => `${view} lacks ${block}`)
    })
  }

  /** The views that are told to lack blocks, by their states. */
  get states(): readonly (readonly [string, string])[] {
    return this.behind.of(sourceId).map(({ node, state }) => [node.view.id, state])
  }

  /** How often a view did not take rows, as the catalog has it. */
  missCountOf(view: string): number {
    return this.#find(view)?.behind?.missCount ?? 0
  }

  #find(view: string): NodeView | undefined {
    return this.#pipes.flatMap(({ nodes }) => nodes[0]?.view ?? []).find(({ id }) => id === view)
  }

  /** Has a view take what it lacks; null when it has all. */
  async catchUp(view: string): Promise<string | null> {
    const found = this.#find(view)
    return found === undefined ? null : ((await this.behind.catchUp(found))?.state ?? null)
  }

  /** As nobody should. */
  async dropView(view: string): Promise<void> {
    this.#seen.delete(view)
  }

  async close(): Promise<void> {
    await this.behind.close(10_000)
  }

  /** Files of INSERTs that a start would run again. */
  underWay(): Promise<readonly string[]> {
    return readdir(this.#underWayPath)
  }

  /** Some turns. */
  pause(turns: number): Promise<void> {
    return this.#turns(turns)
  }

  sees(view: string): boolean {
    return this.#seen.get(view) === sourceId
  }

  async #step(name: string): Promise<void> {
    const held = this.#held.get(name)
    this.#held.delete(name)
    held?.reach()
    await held?.released
    await this.#turns(turnsMax)
  }

  async #turns(max: number): Promise<void> {
    for (let left = this.#random.below(max); left > 0; left -= 1) await turn()
  }

  /** Views that have a block before another fails keep it. */
  async #insert(table: string, blockId: string, passesViews = false): Promise<void> {
    const views = [...this.#seen].flatMap(([view, seen]) => (seen === table ? [view] : []))
    if (table !== sourceId) await this.onRepeat(this.#gate.isClosed(sourceId))
    await this.#step(table === sourceId ? 'append source' : 'append twin')
    const shift = this.#random.below(views.length + 1)
    for (const view of [...views.slice(shift), ...views.slice(0, shift)]) {
      if (!this.failing.has(view)) this.taken.get(view)?.add(blockId)
      else if (!passesViews) throw failureOf(view)
    }
    if (table === sourceId) this.stored.add(blockId)
    await this.#step('appended')
  }

  #store(): object {
    const drop = async (name: string): Promise<void> => {
      await this.#step(`drop ${name}`)
      this.#seen.delete(name)
    }
    const create = async ({ name, query }: { readonly name: string; readonly query: string }): Promise<void> => {
      await this.#step(`create ${name}`)
      if (!this.#seen.has(name)) this.#seen.set(name, query.includes('_twin') ? twinOf(name) : sourceId)
    }
    const sees = async (name: string, table: string): Promise<boolean> => this.#seen.get(name) === table
    const names = async (): Promise<readonly string[]> => [...this.#seen.keys()]
    return {
      views: { create, drop, sees, names },
      tables: { recreateLike: async () => undefined, drop: async () => undefined, list: async () => new Map() },
      parts: { lastBlocks: async () => 0, countSince: async () => this.partsSince },
      sync: () => this.#step('sync'),
      append: ({ table, blockId }: AppendRequest) => this.#insert(table, blockId),
    }
  }

  #catalog(): object {
    const write = async (pipe: Pipe, guard: () => void): Promise<void> => {
      guard()
      if (this.writeFault !== null) throw this.writeFault
      await this.#step('write')
      this.#pipes = this.#pipes.map((one) => (one.id === pipe.id ? pipe : one))
    }
    return {
      find: (id: string) => ({ id, name: id, engine: { name: 'MergeTree', options: {} } }),
      listPipes: () => this.#pipes,
      findPipe: (id: string) => this.#pipes.find((one) => one.id === id),
      replacePipe: (pipe: Pipe, guard: () => void) => {
        const written = this.#lastWrite.then(() => write(pipe, guard))
        this.#lastWrite = written.catch(() => undefined)
        return written
      },
    }
  }
}

interface PartPaths {
  readonly newPartPath: () => string
  readonly underWayPath: string
}

export function twinOf(view: string): string {
  return `${sourceId}_${view.slice('v_'.length)}_twin`
}

/** What the engine says of a block that a view did not take. */
export function failureOf(view: string): StoreError {
  const message = `Value passed to 'throwIf' function is non-zero: while pushing to view ${view}. (FUNCTION_THROW_IF_VALUE_IS_NON_ZERO)`
  return new StoreError({ kind: 'engine', message, clickhouseCode: 395 })
}
