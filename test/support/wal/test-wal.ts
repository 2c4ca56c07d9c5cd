import { dirname, join } from 'node:path'
import type { FileLayer } from '../../../src/wal/file-layer.ts'
import type { Sequence } from '../../../src/wal/sequence.ts'
import { openWal, type Wal } from '../../../src/wal/wal.ts'
import type { NewEntry, WalEntry, WalEvent, WalOptions } from '../../../src/wal/wal.types.ts'

const directory = '/log'

/** Small sizes, so that a few entries reach every limit. Events are gathered in `events` when it is given. */
export function walOptions(changes: Partial<WalOptions> = {}, events: WalEvent[] = []): WalOptions {
  return {
    directory,
    markPath: join(dirname(changes.directory ?? directory), 'log-mark'),
    waitingRows: () => 0,
    segmentBytesMax: 2048,
    zerosAheadBytes: 0,
    entryBytesMax: 8192,
    pendingBytesMax: 64 * 1024,
    totalBytesMax: 1024 * 1024,
    streamsMax: 4,
    onDamage: 'refuse',
    onEvent: (event) => events.push(event),
    ...changes,
  }
}

export function openTestWal(
  files: FileLayer,
  changes: Partial<WalOptions> = {},
  events: WalEvent[] = [],
): Promise<Wal> {
  return openWal(walOptions(changes, events), files)
}

export function rowsEntry(payload: Uint8Array | string, changes: Partial<NewEntry> = {}): NewEntry {
  return {
    kind: 'rows',
    stream: 't_1',
    version: 3,
    encoding: 'identity',
    flags: 0,
    acceptedAtMs: 1_700_000_000_123,
    rowCount: 1,
    quarantinedRowCount: 0,
    payload: typeof payload === 'string' ? Buffer.from(payload) : payload,
    ...changes,
  }
}

export async function readAll(wal: Wal, from?: Sequence): Promise<readonly WalEntry[]> {
  const entries: WalEntry[] = []
  for await (const entry of wal.replay(from)) entries.push(entry)
  return entries
}

/** `sequence:payload` of each entry. */
export async function readTexts(wal: Wal, from?: Sequence): Promise<readonly string[]> {
  return (await readAll(wal, from)).map(({ sequence, payload }) => `${sequence}:${Buffer.from(payload).toString()}`)
}

/** What a promise was rejected with. */
export async function failureOf(work: Promise<unknown>): Promise<unknown> {
  try {
    await work
  } catch (error) {
    return error
  }
  throw new Error('nothing failed')
}
