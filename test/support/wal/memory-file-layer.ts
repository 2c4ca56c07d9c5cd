import { basename } from 'node:path'
import type { FileLayer, LogFile, OpenMode } from '../../../src/wal/file-layer.ts'

/** One thing that happened, in the order of happening. A sync counts when it returned, for what came before it was called. */
export type TraceEvent<Mark> =
  | { readonly kind: 'create'; readonly name: string; readonly inode: number }
  | { readonly kind: 'datasync'; readonly inode: number; readonly upTo: number }
  | { readonly kind: 'mark'; readonly mark: Mark }
  | { readonly kind: 'rename'; readonly from: string; readonly to: string; readonly inode: number }
  | { readonly kind: 'sync-directory'; readonly upTo: number }
  /** A sync failed: what it should have written will never be, though the cache still shows it. */
  | { readonly kind: 'sync-failed'; readonly inode: number; readonly upTo: number }
  | { readonly kind: 'truncate'; readonly inode: number; readonly byteCount: number }
  | { readonly kind: 'unlink'; readonly name: string }
  | { readonly kind: 'write'; readonly inode: number; readonly position: number; readonly bytes: Buffer }

export interface FileCall {
  readonly kind:
    | 'close'
    | 'create'
    | 'datasync'
    | 'list'
    | 'open'
    | 'read'
    | 'rename'
    | 'sync-directory'
    | 'truncate'
    | 'unlink'
    | 'write'
  /** The file's name without the directory. */
  readonly name: string
  readonly byteCount: number
}

/** What goes wrong with a call: after `writtenBytes` of a write it fails, or is short when no code is given. */
export interface Fault {
  readonly code?: 'EIO' | 'ENOSPC'
  readonly writtenBytes?: number
}

/** Files in memory as the kernel's cache shows them, with a record of everything that was done to them. */
export class MemoryFileLayer<Mark = never> implements FileLayer {
  readonly trace: TraceEvent<Mark>[] = []
  /** Asked before each call on files of the log; null lets it pass. */
  fault: (call: FileCall) => Fault | null = () => null
  /** The same for the mark, which is written beside everything else. */
  markFault: (call: FileCall) => Fault | null = () => null
  readonly #inodes = new Map<number, Buffer>()
  readonly #names = new Map<string, number>()
  #inodeCount = 0

  constructor(files: ReadonlyMap<string, Uint8Array> = new Map()) {
    for (const [name, content] of files) this.put(name, content)
  }

  /** The process died behind the last of `events`, and the machine did not: the cache is as it was, and the record goes on. */
  static afterKill<Mark>(events: readonly TraceEvent<Mark>[]): MemoryFileLayer<Mark> {
    const layer = new MemoryFileLayer<Mark>()
    for (const event of events) {
      layer.change(event)
      if (event.kind === 'create') layer.#inodeCount = event.inode
    }
    return layer
  }

  /** The contents by name: what the cache shows. */
  files(): Map<string, Buffer> {
    return new Map([...this.#names].map(([name, inode]) => [name, Buffer.from(this.contentOf(inode))]))
  }

  put(name: string, content: Uint8Array): void {
    this.#inodeCount += 1
    this.#names.set(name, this.#inodeCount)
    this.#inodes.set(this.#inodeCount, Buffer.from(content))
  }

  /** A copy of what is there now. */
  state(): FileState {
    const inodes = new Map([...this.#inodes].map(([inode, content]) => [inode, Buffer.from(content)]))
    return { names: new Map(this.#names), inodes }
  }

  mark(mark: Mark): void {
    this.trace.push({ kind: 'mark', mark })
  }

  async createDirectory(): Promise<void> {
    await turn()
  }

  async list(path: string): Promise<readonly string[]> {
    this.failIfFaulty({ kind: 'list', name: basename(path), byteCount: 0 })
    await turn()
    return [...this.#names.keys()]
  }

  async open(path: string, mode: OpenMode): Promise<LogFile> {
    const name = basename(path)
    const isMade = mode === 'create' || mode === 'append'
    this.failIfFaulty({ kind: isMade ? 'create' : 'open', name, byteCount: 0 })
    await turn()
    const known = this.#names.get(name)
    const file = (inode: number): LogFile => new MemoryFile(this, { name, inode, isSynced: mode === 'append' })
    if (!isMade) {
      if (known === undefined) throw errorOf('ENOENT')
      return file(known)
    }
    if (known !== undefined) {
      this.change({ kind: 'truncate', inode: known, byteCount: 0 })
      return file(known)
    }
    this.#inodeCount += 1
    this.#inodes.set(this.#inodeCount, Buffer.alloc(0))
    this.change({ kind: 'create', name, inode: this.#inodeCount })
    return file(this.#inodeCount)
  }

  async rename(from: string, to: string): Promise<void> {
    this.failIfFaulty({ kind: 'rename', name: basename(from), byteCount: 0 })
    await turn()
    const inode = this.#names.get(basename(from))
    if (inode === undefined) throw errorOf('ENOENT')
    this.change({ kind: 'rename', from: basename(from), to: basename(to), inode })
  }

  async unlink(path: string): Promise<void> {
    this.failIfFaulty({ kind: 'unlink', name: basename(path), byteCount: 0 })
    await turn()
    if (!this.#names.has(basename(path))) throw errorOf('ENOENT')
    this.change({ kind: 'unlink', name: basename(path) })
  }

  async syncDirectory(path: string): Promise<void> {
    const upTo = this.trace.length
    this.failIfFaulty({ kind: 'sync-directory', name: basename(path), byteCount: 0 })
    await turn()
    this.trace.push({ kind: 'sync-directory', upTo })
  }

  contentOf(inode: number): Buffer {
    return this.#inodes.get(inode) ?? Buffer.alloc(0)
  }

  faultOf(call: FileCall): Fault | null {
    return call.name === 'log-mark' ? this.markFault(call) : this.fault(call)
  }

  /** What was done to the log's own files, but for the first so many. */
  kindsOfLog(from = 0): readonly TraceEvent<Mark>['kind'][] {
    const mark = this.#names.get('log-mark')
    const events = this.trace.filter((event) => !('inode' in event) || event.inode !== mark)
    return events.slice(from).map(({ kind }) => kind)
  }

  failIfFaulty(call: FileCall): void {
    const fault = this.faultOf(call)
    if (fault?.code !== undefined) throw errorOf(fault.code)
  }

  change(event: TraceEvent<Mark>): void {
    this.trace.push(event)
    applyEvent({ names: this.#names, inodes: this.#inodes }, event)
  }
}

class MemoryFile<Mark> implements LogFile {
  readonly #layer: MemoryFileLayer<Mark>
  readonly #name: string
  readonly #inode: number
  /** A crash may come between what a write writes and its sync, as if they were two calls. */
  readonly #isSynced: boolean
  #hasFailed = false

  constructor(
    layer: MemoryFileLayer<Mark>,
    { name, inode, isSynced }: { readonly name: string; readonly inode: number; readonly isSynced: boolean },
  ) {
    this.#layer = layer
    this.#name = name
    this.#inode = inode
    this.#isSynced = isSynced
  }

  async read(target: Uint8Array, position: number): Promise<number> {
    this.#layer.failIfFaulty({ kind: 'read', name: this.#name, byteCount: target.length })
    await turn()
    const content = this.#layer.contentOf(this.#inode)
    return position >= content.length ? 0 : content.copy(target, 0, position)
  }

  async write(chunks: readonly Uint8Array[], position: number): Promise<number> {
    const bytes = Buffer.concat(chunks)
    const fault = this.#layer.faultOf({ kind: 'write', name: this.#name, byteCount: bytes.length })
    await turn()
    const written = bytes.subarray(0, fault?.writtenBytes ?? (fault === null ? bytes.length : 0))
    if (written.length > 0) this.#layer.change({ kind: 'write', inode: this.#inode, position, bytes: written })
    if (fault?.code !== undefined) throw errorOf(fault.code)
    if (this.#isSynced) await this.datasync()
    return written.length
  }

  async datasync(): Promise<void> {
    if (this.#hasFailed) throw new Error('a descriptor was synced again after a failed sync')
    const upTo = this.#layer.trace.length
    const fault = this.#layer.faultOf({ kind: 'datasync', name: this.#name, byteCount: 0 })
    // As a disk does, it takes its time: others run meanwhile.
    await new Promise<void>((resolve) => setImmediate(resolve))
    if (fault?.code === undefined) {
      this.#layer.trace.push({ kind: 'datasync', inode: this.#inode, upTo })
      return
    }
    this.#hasFailed = true
    this.#layer.trace.push({ kind: 'sync-failed', inode: this.#inode, upTo })
    throw errorOf(fault.code)
  }

  async truncate(byteCount: number): Promise<void> {
    this.#layer.failIfFaulty({ kind: 'truncate', name: this.#name, byteCount })
    await turn()
    this.#layer.change({ kind: 'truncate', inode: this.#inode, byteCount })
  }

  async size(): Promise<number> {
    await turn()
    return this.#layer.contentOf(this.#inode).length
  }

  async close(): Promise<void> {
    this.#layer.failIfFaulty({ kind: 'close', name: this.#name, byteCount: 0 })
    await turn()
  }
}

export interface FileState {
  readonly names: Map<string, number>
  readonly inodes: Map<number, Buffer>
}

/** Does to `state` what the event did; an event whose file never came to be does nothing. */
export function applyEvent(state: FileState, event: TraceEvent<unknown>): void {
  switch (event.kind) {
    case 'create':
      state.names.set(event.name, event.inode)
      break
    case 'rename':
      if (state.names.get(event.from) === event.inode) state.names.delete(event.from)
      state.names.set(event.to, event.inode)
      break
    case 'unlink':
      state.names.delete(event.name)
      break
    case 'truncate':
      state.inodes.set(event.inode, resized(state.inodes.get(event.inode), event.byteCount))
      break
    case 'write': {
      const end = event.position + event.bytes.length
      const known = state.inodes.get(event.inode) ?? Buffer.alloc(0)
      const content = known.length >= end ? known : resized(known, end)
      event.bytes.copy(content, event.position)
      state.inodes.set(event.inode, content)
      break
    }
    case 'datasync':
    case 'mark':
    case 'sync-directory':
    case 'sync-failed':
      break
  }
}

function resized(content: Buffer | undefined, byteCount: number): Buffer {
  const changed = Buffer.alloc(byteCount)
  content?.copy(changed)
  return changed
}

function errorOf(code: string): Error {
  return Object.assign(new Error(`${code}: made by a test`), { code })
}

async function turn(): Promise<void> {
  await Promise.resolve()
}
