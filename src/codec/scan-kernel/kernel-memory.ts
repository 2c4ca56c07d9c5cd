/**
 * The linear memory that the scan kernel and its host have in common.
 *
 * Buffers come in powers of two and go back to a free list of their size. When the memory grows, every view of it is
 * detached: whoever keeps views registers, and is told to make them anew.
 */
import { assert } from '../../shared/assert.ts'

const pageBytes = 65_536
/** 4 GiB, the most that 32-bit addresses reach; what is never touched costs nothing. */
const pagesMax = 65_536
const initialPages = 64
const bufferBytesMin = 16

/** Someone who keeps views of the memory. */
export interface ViewKeeper {
  /** Makes the views anew. */
  bind(): void
}

export class KernelMemory {
  readonly memory = new WebAssembly.Memory({ initial: initialPages, maximum: pagesMax })
  bytes = new Uint8Array(this.memory.buffer)
  int32 = new Int32Array(this.memory.buffer)
  readonly #keepers = new Set<ViewKeeper>()
  /** Free buffers by size. */
  readonly #free = new Map<number, number[]>()
  /** Where the memory begins that nobody has had yet; 0 until the kernel says. */
  #end = 0

  /** Bytes that were ever handed out: more is never in use. */
  get usedBytes(): number {
    return this.#end
  }

  /** Gives all memory from `start` on to `allocate`. */
  open(start: number): void {
    assert(this.#end === 0, 'the memory is opened once')
    this.#end = roundedUp(start, bufferBytesMin)
  }

  /**
   * The address of at least `byteCount` bytes with anything in them.
   * @throws RangeError when the memory has no room for them.
   */
  allocate(byteCount: number): number {
    assert(this.#end > 0, 'the memory is open')
    const size = bufferSize(byteCount)
    const reused = this.#free.get(size)?.pop()
    if (reused !== undefined) return reused
    const pointer = this.#end
    if (pointer + size > this.bytes.length) this.#grow(pointer + size)
    this.#end = pointer + size
    return pointer
  }

  /** Takes back a buffer of `allocate(byteCount)`. */
  release(pointer: number, byteCount: number): void {
    const size = bufferSize(byteCount)
    const sameSize = this.#free.get(size)
    if (sameSize === undefined) this.#free.set(size, [pointer])
    else sameSize.push(pointer)
  }

  addKeeper(keeper: ViewKeeper): void {
    this.#keepers.add(keeper)
  }

  removeKeeper(keeper: ViewKeeper): void {
    this.#keepers.delete(keeper)
  }

  /** Writes 32-bit words into a buffer of their own and gives its address; the caller releases `words.length * 4` bytes. */
  allocateWords(words: readonly number[]): number {
    const pointer = this.allocate(words.length * 4)
    this.int32.set(words, pointer / 4)
    return pointer
  }

  #grow(byteCount: number): void {
    const pages = this.bytes.length / pageBytes
    const needed = Math.ceil(byteCount / pageBytes)
    // By a quarter at least, so that growing stays rare; at the end of what can be, by what is needed.
    this.memory.grow(Math.max(needed, Math.min(pagesMax, Math.ceil(pages * 1.25))) - pages)
    this.bytes = new Uint8Array(this.memory.buffer)
    this.int32 = new Int32Array(this.memory.buffer)
    for (const keeper of this.#keepers) keeper.bind()
  }
}

/** The size of the buffer that `byteCount` bytes get. */
function bufferSize(byteCount: number): number {
  let size = bufferBytesMin
  while (size < byteCount) size *= 2
  return size
}

function roundedUp(value: number, step: number): number {
  return Math.ceil(value / step) * step
}
