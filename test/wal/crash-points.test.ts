import t from 'tap'
import { bookkeepingEntry, encodeBarrier } from '../../src/wal/entry-payloads.ts'
import { toSequence } from '../../src/wal/sequence.ts'
import type { Wal } from '../../src/wal/wal.ts'
import type { NewEntry, WalEntry, WalOptions } from '../../src/wal/wal.types.ts'
import { WalFailedError, WalRefusedError } from '../../src/wal/wal-errors.ts'
import { SeededRandom, testSeed } from '../support/seeded-random.ts'
import { byTier } from '../support/tier.ts'
import { type Fault, type FileCall, MemoryFileLayer, type TraceEvent } from '../support/wal/memory-file-layer.ts'
import { cutModes, filesAfterCut } from '../support/wal/power-cut.ts'
import { openTestWal, readAll, rowsEntry } from '../support/wal/test-wal.ts'

/** What the world outside saw of the log, in the order of seeing. */
type Mark =
  /** Handed over: from here on it may be in the log. */
  | { readonly kind: 'appended'; readonly texts: readonly string[] }
  | { readonly kind: 'acknowledged'; readonly sequences: readonly number[]; readonly texts: readonly string[] }
  | { readonly kind: 'refused'; readonly texts: readonly string[] }
  /** From here on entries below need not be there. */
  | { readonly kind: 'released'; readonly below: number }

type Layer = MemoryFileLayer<Mark>
type Trace = readonly TraceEvent<Mark>[]

const roundCount = 15
const testOptions = { streamsMax: 1000, zerosAheadBytes: 300 }

class Workload {
  readonly #layer: Layer
  readonly #random: SeededRandom
  readonly #options: Partial<WalOptions>
  #batchCount = 0

  constructor(layer: Layer, random: SeededRandom) {
    this.#layer = layer
    this.#random = random
    this.#options = { ...testOptions, zerosAheadBytes: random.pick([0, 100, 900, 5000]) }
  }

  /** Appends by a few senders at once, with releases between; refused batches are not tried again. */
  async run(rounds: number): Promise<void> {
    let wal = await openTestWal(this.#layer, this.#options)
    for (let round = 0; round < rounds; round += 1) {
      const senders = Array.from({ length: 1 + this.#random.below(4) }, () => this.#send(wal))
      await Promise.all(senders)
      while (wal.stats().state === 'failed') wal = await this.#revive(wal)
      if (this.#random.below(4) === 0) await this.#release(wal)
    }
    await wal.close()
  }

  /** The log is reopened, or the process started again with the cache as it was; the disk may fail while they try. */
  async #revive(wal: Wal): Promise<Wal> {
    try {
      if (this.#random.below(2) === 0) await wal.reopen()
      else return await openTestWal(this.#layer, this.#options)
    } catch (error) {
      if (!(error instanceof WalFailedError) && !isFault(error)) throw error
    }
    return wal
  }

  async #send(wal: Wal): Promise<void> {
    this.#batchCount += 1
    const batch = this.#batchCount
    const count = 1 + this.#random.below(3)
    const entries = Array.from({ length: count }, (_, index) => this.#entry(batch, index, count))
    const texts = entries.map(textOf)
    this.#layer.mark({ kind: 'appended', texts })
    try {
      const sequences = await wal.appendBatch(entries)
      this.#layer.mark({ kind: 'acknowledged', sequences, texts })
    } catch (error) {
      if (!(error instanceof WalRefusedError) && !(error instanceof WalFailedError)) throw error
      if (error instanceof WalRefusedError) this.#layer.mark({ kind: 'refused', texts })
    }
  }

  #entry(batch: number, index: number, count: number): NewEntry {
    const generation = batch
    if (this.#random.below(12) === 0) {
      const payload = encodeBarrier({ generation, isFinal: false })
      return bookkeepingEntry({ kind: 'barrier', stream: `b/${batch}/${index}/${count}`, atMs: 0, payload })
    }
    const size = this.#random.pick([0, 10, 100, 400, 700, 3000])
    const filler = Buffer.alloc(size, batch * 7 + index)
    return rowsEntry(Buffer.concat([Buffer.from(`${batch}/${index}/${count}/`), filler]))
  }

  async #release(wal: Wal): Promise<void> {
    const { nextSequence, releasedSequence } = wal.stats()
    const below = toSequence(releasedSequence + this.#random.below(nextSequence - releasedSequence + 1))
    this.#layer.mark({ kind: 'released', below })
    await wal.release(below)
  }
}

function isFault(error: unknown): boolean {
  return error instanceof Error && error.message.endsWith('made by a test')
}

function textOf({ kind, stream, payload }: NewEntry | WalEntry): string {
  return `${kind} ${stream} ${Buffer.from(payload).toString('latin1')}`
}

/** Everything in which a log breaks what was promised by the marks. */
async function breaches(wal: Wal, marks: readonly Mark[]): Promise<readonly string[]> {
  const released = Math.max(1, ...marks.map((mark) => (mark.kind === 'released' ? mark.below : 1)))
  const batches = marks.flatMap((mark) => (mark.kind === 'appended' ? [mark.texts] : []))
  const attempts = new Set(batches.flat())
  const refused = new Set(marks.flatMap((mark) => (mark.kind === 'refused' ? mark.texts : [])))
  const entries = await readAll(wal, toSequence(1))
  const found = new Map(entries.map((entry) => [entry.sequence as number, textOf(entry)]))
  const present = new Set(found.values())
  const faults: string[] = []
  for (const [index, { sequence }] of entries.entries()) {
    if (sequence !== (entries[0]?.sequence ?? 0) + index) faults.push(`a gap before ${sequence}`)
  }
  if (present.size !== found.size) faults.push('an entry is there twice')
  for (const text of present) {
    if (!attempts.has(text)) faults.push('an entry that nobody appended')
    if (refused.has(text)) faults.push('an entry that was refused')
  }
  for (const texts of batches) {
    const count = texts.filter((text) => present.has(text)).length
    if (count !== 0 && count !== texts.length) faults.push('half a batch')
  }
  const { nextSequence, releasedSequence } = wal.stats()
  for (const mark of marks) {
    if (mark.kind !== 'acknowledged') continue
    for (const [index, sequence] of mark.sequences.entries()) {
      if (sequence >= released && found.get(sequence) !== mark.texts[index]) faults.push(`${sequence} is lost or wrong`)
      if (sequence >= nextSequence) faults.push(`${sequence} would be used twice`)
    }
  }
  if (releasedSequence > released) faults.push('more was released than asked for')
  return faults
}

function marksOf(events: Trace): readonly Mark[] {
  return events.flatMap((event) => (event.kind === 'mark' ? [event.mark] : []))
}

async function record(random: SeededRandom, faultOf: (call: FileCall, count: number) => Fault | null): Promise<Layer> {
  const layer = new MemoryFileLayer<Mark>()
  let callCount = 0
  layer.fault = (call) => {
    callCount += 1
    return faultOf(call, callCount)
  }
  await new Workload(layer, random).run(roundCount)
  return layer
}

const cutStep = byTier({ quick: 12, full: 3, soak: 1 })

/** Opens the files, checks the log, and appends to it. */
async function reviveAndCheck(layer: Layer, marks: readonly Mark[]): Promise<readonly string[]> {
  const wal = await openTestWal(layer, testOptions)
  const faults = await breaches(wal, marks)
  const { nextSequence } = wal.stats()
  const entry = rowsEntry(`after ${marks.length}`)
  layer.mark({ kind: 'appended', texts: [textOf(entry)] })
  const sequence = await wal.append(entry)
  layer.mark({ kind: 'acknowledged', sequences: [sequence], texts: [textOf(entry)] })
  return sequence === nextSequence ? faults : [...faults, 'the sequences do not go on']
}

/** The process is killed behind `events`; the power goes at some moment of what the next process does. */
async function checkKillAndCut(events: Trace, random: SeededRandom): Promise<readonly string[]> {
  const killed = MemoryFileLayer.afterKill(events)
  const faults = await reviveAndCheck(killed, marksOf(events))
  const cut = events.length + random.below(killed.trace.length - events.length + 1)
  const nothing = { names: new Map(), inodes: new Map() }
  const left = killed.trace.slice(0, cut)
  const layer = new MemoryFileLayer<Mark>(filesAfterCut(nothing, left, { mode: random.pick(cutModes), random }))
  return [...faults, ...(await reviveAndCheck(layer, marksOf(left)))]
}

/** Cuts the trace at every point of the tier, in every mode, and half of what recovery did then once more. */
async function checkEveryCut(trace: Trace, random: SeededRandom): Promise<{ cuts: number; faults: readonly string[] }> {
  const faults: string[] = []
  let cuts = 0
  const describe = (where: string) => (fault: string) => `${where}: ${fault}`
  for (let cut = random.below(cutStep); cut <= trace.length; cut += cutStep) {
    const events = trace.slice(0, cut)
    faults.push(...(await checkKillAndCut(events, random)).map(describe(`killed at ${cut}`)))
    cuts += 2
    for (const mode of cutModes) {
      const nothing = { names: new Map(), inodes: new Map() }
      const layer = new MemoryFileLayer<Mark>(filesAfterCut(nothing, events, { mode, random }))
      const survivors = layer.state()
      faults.push(...(await reviveAndCheck(layer, marksOf(events))).map(describe(`${mode} cut at ${cut}`)))
      cuts += 1
      if (random.below(2) === 0) continue
      const more = layer.trace.slice(0, random.below(layer.trace.length + 1))
      const second = new MemoryFileLayer<Mark>(filesAfterCut(survivors, more, { mode, random }))
      const marks = marksOf([...events, ...more])
      faults.push(
        ...(await reviveAndCheck(second, marks)).map(describe(`${mode} cut at ${cut}, then at ${more.length}`)),
      )
      cuts += 1
    }
  }
  return { cuts, faults }
}

t.test('a log that is cut off at any point has every acknowledged entry and no half one', async (t) => {
  const seed = testSeed()
  t.comment(`SEED=${seed}`)
  const random = new SeededRandom(seed)
  const { trace } = await record(random, () => null)
  const { cuts, faults } = await checkEveryCut(trace, random)
  t.comment(`${trace.length} operations, ${cuts} cuts`)
  t.same(faults.slice(0, 10), [])
})

t.test('a rescue that is cut off at any point loses no readable entry and no byte of evidence', async (t) => {
  const seed = testSeed()
  t.comment(`SEED=${seed}`)
  const random = new SeededRandom(seed + 2)
  const source = new MemoryFileLayer<Mark>()
  const wal = await openTestWal(source, testOptions)
  for (let count = 0; count < 6; count += 1) await wal.append(rowsEntry(Buffer.alloc(700, count)))
  const damaged = source.files()
  for (const [name, content] of damaged) if (name.endsWith('.wal')) content.fill(0xee, 100, 120)
  const layer = new MemoryFileLayer<Mark>(damaged)
  const before = layer.state()
  const rescued = await openTestWal(layer, { ...testOptions, onDamage: 'keep-aside' })
  const { keptAside, lostRanges } = rescued.recovery
  t.same([keptAside.length, lostRanges.length], [3, 3])
  const kept = (await readAll(rescued)).map(textOf)
  for (let cut = 0; cut <= layer.trace.length; cut += 1) {
    for (const mode of cutModes) {
      const state = { names: new Map(before.names), inodes: new Map(before.inodes) }
      for (const [inode, content] of before.inodes) state.inodes.set(inode, Buffer.from(content))
      const files = filesAfterCut(state, layer.trace.slice(0, cut), { mode, random })
      const again = await openTestWal(new MemoryFileLayer(files), { ...testOptions, onDamage: 'keep-aside' })
      t.same((await readAll(again)).map(textOf), kept, `${mode} cut at ${cut}`)
      for (const [name, content] of damaged) {
        if (files.get(name)?.equals(content) || !name.endsWith('.wal')) continue
        const copies = [...files].filter(([other]) => other.startsWith(`${name}.corrupt-`))
        t.ok(
          copies.some(([, copy]) => copy.equals(content)),
          `${name} is whole after a ${mode} cut at ${cut}`,
        )
      }
    }
  }
})

t.test('the same holds around a disk that is full, writes short, and fails to sync', async (t) => {
  const seed = testSeed()
  t.comment(`SEED=${seed}`)
  const random = new SeededRandom(seed + 1)
  const { trace } = await record(random, ({ kind, name, byteCount }, count) => {
    if (count < 20 || !name.endsWith('.wal')) return null
    if (kind === 'write' && random.below(6) === 0) return { writtenBytes: 1 + random.below(byteCount) }
    if (kind === 'write' && random.below(6) === 0) return { code: 'ENOSPC', writtenBytes: random.below(byteCount) }
    if (kind === 'datasync' && random.below(8) === 0) return { code: 'EIO' }
    return null
  })
  const failed = trace.filter(({ kind }) => kind === 'sync-failed').length
  const refused = marksOf(trace).filter(({ kind }) => kind === 'refused').length
  const { cuts, faults } = await checkEveryCut(trace, random)
  t.comment(`${trace.length} operations, ${failed} failed syncs, ${refused} refused batches, ${cuts} cuts`)
  t.ok(failed + refused > 0, 'the faults happened')
  t.same(faults.slice(0, 10), [])
})
