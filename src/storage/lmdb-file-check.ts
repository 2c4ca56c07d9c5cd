/**
 * Looks at the catalog's file before lmdb maps it: a file that is cut, or has other bytes than were written, would end the
 * process inside lmdb (SIGBUS, SIGSEGV) or hang it, without a word.
 *
 * What is checked is the shape of all that can be reached: both meta pages, each page of each tree, the records on them. The
 * records' bytes have checksums, which are checked when they are read. Layout: lmdb's `mdb.c`, data version 2, pages with a
 * header of 24 bytes. All numbers are little-endian, as on every machine that the engine runs on.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { StorageDamagedError } from './storage-errors.ts'

const magic = 0xbeefc0de
const dataVersion = 2
const headerBytes = 24
const metaBytes = headerBytes + 144
const treeBytes = 48
/** Of a map as this service makes it: keys in the order of their bytes, one value each. */
const plainTreeFlags = 0
const nodeBytes = 8
const pageFlags = { branch: 0x01, leaf: 0x02, overflow: 0x04, meta: 0x08 } as const
const nodeFlags = { overflow: 0x01, tree: 0x02 } as const
const pageBytesMax = 64 * 1024
const freeListName = 'the list of free pages'
const mapListName = 'the list of maps'
const depthMax = 32
/** No catalog comes near: the whole of it is held in memory. */
const mapBytesMax = 2 ** 44

/** @throws StorageDamagedError, or the system's error when the file cannot be read. A file that is missing or empty passes. */
export function checkLmdbFile(path: string): void {
  const file = openExisting(path)
  if (file === null) return
  try {
    new FileCheck(file).run()
  } finally {
    closeSync(file)
  }
}

function openExisting(path: string): number | null {
  try {
    return openSync(path, 'r')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw error
  }
}

interface Tree {
  readonly depth: number
  readonly entryCount: number
  /** Null for an empty tree. */
  readonly root: number | null
}

interface Meta {
  readonly pageBytes: number
  readonly lastPage: number
  readonly transaction: number
  readonly free: Tree
  readonly main: Tree
}

class FileCheck {
  readonly #file: number
  readonly #byteCount: number
  #meta: Meta | null = null
  readonly #seen = new Set<number>()
  /** The pages of all maps. */
  #inUse: ReadonlySet<number> = new Set()

  constructor(file: number) {
    this.#file = file
    this.#byteCount = fstatSync(file).size
  }

  run(): void {
    // As a first start leaves it that is cut off before lmdb has written anything.
    if (this.#byteCount === 0) return
    const first = this.#readMeta(0, 0)
    const second = this.#readMeta(1, first.pageBytes)
    if (first.pageBytes !== second.pageBytes) throw damaged('its two first pages contradict each other')
    if (Math.abs(first.transaction - second.transaction) > 1) {
      throw damaged(`its two first pages are of changes ${first.transaction} and ${second.transaction}`)
    }
    const meta = second.transaction > first.transaction ? second : first
    this.#meta = meta
    this.#checkTree(meta.main, mapListName)
    this.#inUse = new Set(this.#seen)
    this.#checkTree(meta.free, freeListName)
  }

  #readMeta(index: number, offset: number): Meta {
    const page = this.#read(offset, metaBytes)
    if (page.length < metaBytes) throw damaged(`it is cut at byte ${this.#byteCount}`)
    const where = index === 0 ? 'its first page' : 'its second page'
    if (page.readUInt32LE(headerBytes) !== magic) throw damaged(`${where} is not of a catalog`)
    if (page.readUInt32LE(headerBytes + 4) !== dataVersion || page.readUInt16LE(18) !== pageFlags.meta) {
      throw damaged(`${where} is of another kind`)
    }
    const pageBytes = page.readUInt32LE(headerBytes + 24)
    const isPower = pageBytes >= 512 && pageBytes <= pageBytesMax && (pageBytes & (pageBytes - 1)) === 0
    if (numberAt(page, 0) !== index || !isPower) throw damaged(`${where} has a size that no page has`)
    const meta = {
      pageBytes,
      lastPage: numberAt(page, headerBytes + 120),
      transaction: numberAt(page, headerBytes + 128),
      free: treeAt(page, headerBytes + 24),
      main: treeAt(page, headerBytes + 24 + treeBytes),
    }
    const mapBytes = numberAt(page, headerBytes + 16)
    const isMapped =
      mapBytes % pageBytes === 0 && mapBytes >= (meta.lastPage + 1) * pageBytes && mapBytes <= mapBytesMax
    if (!isMapped || meta.lastPage < 1) throw damaged(`${where} has a size that no catalog has`)
    // Changes are written to the two pages in turns; a new file has change 0 in both.
    if (meta.transaction > 1 && meta.transaction % 2 !== index) throw damaged(`${where} has the number of another`)
    return meta
  }

  /** Pages are remembered by number, so that none is in two places, and no tree leads back into itself. */
  #checkTree(tree: Tree, name: string): void {
    if (tree.root === null) {
      if (tree.entryCount !== 0) throw damaged(`${name} has lost its first page`)
      return
    }
    const entryCount = this.#checkPage(tree.root, { depth: tree.depth, name })
    if (entryCount !== tree.entryCount) throw damaged(`${name} has ${entryCount} entries instead of ${tree.entryCount}`)
  }

  /** The entries on and below a page. */
  #checkPage(number: number, { depth, name }: { readonly depth: number; readonly name: string }): number {
    const page = this.#page(number, name)
    const isLeaf = depth === 1
    const lower = page.readUInt16LE(20)
    const upper = page.readUInt16LE(22)
    const hasKind = page.readUInt16LE(18) === (isLeaf ? pageFlags.leaf : pageFlags.branch)
    const isOrdered = lower <= upper && headerBytes + upper <= page.length && lower % 2 === 0
    if (!hasKind || depth < 1 || depth > depthMax || !isOrdered) throw badPage(number, name)
    const nodeCount = lower / 2
    let entryCount = 0
    for (let index = 0; index < nodeCount; index += 1) {
      // Places on a page are counted from behind its header.
      const offset = headerBytes + page.readUInt16LE(headerBytes + index * 2)
      const isOnPage = offset >= headerBytes + upper && offset + nodeBytes <= page.length
      if (!isOnPage || offset + nodeBytes + page.readUInt16LE(offset + 6) > page.length) throw badPage(number, name)
      if (isLeaf) this.#checkLeafNode(page, offset, { number, name })
      else entryCount += this.#checkPage(childOf(page, offset), { depth: depth - 1, name })
    }
    return isLeaf ? nodeCount : entryCount
  }

  #checkLeafNode(
    page: Buffer,
    offset: number,
    { number, name }: { readonly number: number; readonly name: string },
  ): void {
    const dataBytes = page.readUInt16LE(offset) + page.readUInt16LE(offset + 2) * 65_536
    const flags = page.readUInt16LE(offset + 4)
    const dataOffset = offset + nodeBytes + page.readUInt16LE(offset + 6)
    const storedBytes = flags === nodeFlags.overflow ? 8 : dataBytes
    if (dataOffset + storedBytes > page.length) throw badPage(number, name)
    if ((name === mapListName) !== (flags === nodeFlags.tree)) throw badPage(number, name)
    switch (flags) {
      case 0:
        if (name === freeListName) this.#checkFreePages(page.subarray(dataOffset, dataOffset + dataBytes))
        return
      case nodeFlags.overflow:
        this.#checkOverflow(numberAt(page, dataOffset), dataBytes, name)
        return
      case nodeFlags.tree: {
        if (dataBytes !== treeBytes || page.readUInt16LE(dataOffset + 4) !== plainTreeFlags) throw badPage(number, name)
        const mapName = page
          .subarray(offset + nodeBytes, dataOffset)
          .toString('latin1')
          .replaceAll(/[^ -~]/g, '')
        this.#checkTree(treeAt(page, dataOffset), `the map ${mapName}`)
        return
      }
      default:
        throw badPage(number, name)
    }
  }

  /**
   * A page that is in use and listed as free would be overwritten by the next change. A list is its length, then pages; 0
   * stands for none, and -n in front of a page for n pages from there on.
   */
  #checkFreePages(list: Buffer): void {
    // One that is shorter than its length has none.
    const length = list.length < 8 ? list.length : numberAt(list, 0)
    if ((length + 1) * 8 > list.length) throw damaged(`${freeListName} is not as it was written`)
    for (let index = 1; index <= length; index += 1) {
      const value = Number(list.readBigInt64LE(index * 8))
      if (value === 0) continue
      if (value > 0) {
        this.#checkFree(value, 1)
        continue
      }
      index += 1
      this.#checkFree(index > length ? 0 : numberAt(list, index * 8), -value)
    }
  }

  #checkFree(first: number, count: number): void {
    const isInFile = this.#meta !== null && first >= 2 && first + count - 1 <= this.#meta.lastPage
    if (!isInFile) throw damaged(`${freeListName} is not as it was written`)
    for (let number = first; number < first + count; number += 1) {
      if (this.#inUse.has(number)) throw damaged(`${freeListName} holds a page that is in use`)
    }
  }

  #checkOverflow(number: number, dataBytes: number, name: string): void {
    const page = this.#page(number, name)
    const pageCount = page.readUInt32LE(20)
    const neededCount = Math.ceil((headerBytes + dataBytes) / page.length)
    if (page.readUInt16LE(18) !== pageFlags.overflow || pageCount < neededCount) throw badPage(number, name)
    for (let next = number + 1; next < number + pageCount; next += 1) this.#take(next, name)
  }

  #page(number: number, name: string): Buffer {
    const pageBytes = this.#take(number, name)
    const page = this.#read(number * pageBytes, pageBytes)
    if (numberAt(page, 0) !== number) throw badPage(number, name)
    return page
  }

  /** The size of a page that is there, and in no other place. */
  #take(number: number, name: string): number {
    if (this.#meta === null) throw new Error('the meta pages are read first')
    const { pageBytes, lastPage } = this.#meta
    if (number < 2 || number > lastPage || this.#seen.has(number)) throw badPage(number, name)
    if ((number + 1) * pageBytes > this.#byteCount) throw damaged(`it is cut at byte ${this.#byteCount}, in ${name}`)
    this.#seen.add(number)
    return pageBytes
  }

  #read(offset: number, byteCount: number): Buffer {
    const bytes = Buffer.alloc(byteCount)
    return bytes.subarray(0, readSync(this.#file, bytes, 0, byteCount, offset))
  }
}

/** 64 bits; what no double holds exactly is larger than anything that is allowed. */
function numberAt(page: Buffer, offset: number): number {
  return Number(page.readBigUInt64LE(offset))
}

const noPage = 2n ** 64n - 1n

function treeAt(page: Buffer, offset: number): Tree {
  const root = page.readBigUInt64LE(offset + 40)
  return {
    depth: page.readUInt16LE(offset + 6),
    entryCount: numberAt(page, offset + 32),
    root: root === noPage ? null : Number(root),
  }
}

/** Branches keep the number of a page in the places of size and flags, 48 bits. */
function childOf(page: Buffer, offset: number): number {
  return page.readUInt32LE(offset) + page.readUInt16LE(offset + 4) * 2 ** 32
}

function badPage(number: number, name: string): StorageDamagedError {
  return damaged(`page ${number} of ${name} is not as it was written`)
}

function damaged(reason: string): StorageDamagedError {
  return new StorageDamagedError(reason)
}
