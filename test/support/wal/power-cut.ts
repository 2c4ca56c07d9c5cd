import type { SeededRandom } from '../seeded-random.ts'
import { applyEvent, type FileState, type TraceEvent } from './memory-file-layer.ts'

const blockBytes = 512

/**
 * What becomes of things that were not synced: `none` reaches the disk, `all` does (the process died, not the machine), all
 * up to a point in the middle of one write (`prefix`), or any 512-byte blocks and any names, in any order (`blocks`).
 */
export type CutMode = 'all' | 'blocks' | 'none' | 'prefix'
export const cutModes: readonly [CutMode, ...CutMode[]] = ['none', 'all', 'prefix', 'blocks', 'blocks']

/** The files by name after the power went behind the last of `events`; `state` is what the disk had before, and is used up. */
export function filesAfterCut(
  state: FileState,
  events: readonly TraceEvent<unknown>[],
  chance: { readonly mode: CutMode; readonly random: SeededRandom },
): Map<string, Buffer> {
  const fates = fatesOf(events)
  const prefixEnd = chance.random.below(events.length + 1)
  for (const [index, event] of events.entries()) {
    const fate = fates[index]
    if (fate === 'durable') applyEvent(state, event)
    // A write that a failed sync should have brought to the disk stays in the cache alone, for good.
    if (fate !== 'open') continue
    if (chance.mode === 'all') applyEvent(state, event)
    if (chance.mode === 'prefix' && index < prefixEnd) applyEvent(state, event)
    if (chance.mode === 'prefix' && index === prefixEnd && event.kind === 'write') {
      const bytes = event.bytes.subarray(0, chance.random.below(event.bytes.length + 1))
      applyEvent(state, { ...event, bytes })
    }
    if (chance.mode === 'blocks') applySomeBlocks(state, event, chance.random)
  }
  return new Map([...state.names].map(([name, inode]) => [name, state.inodes.get(inode) ?? Buffer.alloc(0)]))
}

type Fate = 'dropped' | 'durable' | 'open'

function fatesOf(events: readonly TraceEvent<unknown>[]): readonly Fate[] {
  const fates: Fate[] = events.map(() => 'open')
  for (const sync of events) {
    if (sync.kind === 'sync-directory') {
      settle(fates, events.slice(0, sync.upTo), (event) =>
        event.kind === 'create' || event.kind === 'rename' || event.kind === 'unlink' ? 'durable' : null,
      )
    }
    if (sync.kind === 'datasync' || sync.kind === 'sync-failed') {
      settle(fates, events.slice(0, sync.upTo), (event) => {
        if ((event.kind !== 'write' && event.kind !== 'truncate') || event.inode !== sync.inode) return null
        return sync.kind === 'sync-failed' && event.kind === 'write' ? 'dropped' : 'durable'
      })
    }
  }
  return fates
}

function settle(
  fates: Fate[],
  events: readonly TraceEvent<unknown>[],
  fateOf: (event: TraceEvent<unknown>) => Fate | null,
): void {
  for (const [index, event] of events.entries()) {
    if (fates[index] !== 'open') continue
    const fate = fateOf(event)
    if (fate !== null) fates[index] = fate
  }
}

function applySomeBlocks(state: FileState, event: TraceEvent<unknown>, random: SeededRandom): void {
  if (event.kind !== 'write') {
    if (random.below(2) === 0) applyEvent(state, event)
    return
  }
  const end = event.position + event.bytes.length
  // The size may have reached the disk without the bytes: they read as zeros.
  const known = state.inodes.get(event.inode)?.length ?? 0
  if (random.below(2) === 0 && known < end) applyEvent(state, { kind: 'truncate', inode: event.inode, byteCount: end })
  let position = event.position
  while (position < end) {
    const blockEnd = Math.min(end, (Math.floor(position / blockBytes) + 1) * blockBytes)
    const bytes = event.bytes.subarray(position - event.position, blockEnd - event.position)
    if (random.below(2) === 0) applyEvent(state, { ...event, position, bytes })
    position = blockEnd
  }
}
