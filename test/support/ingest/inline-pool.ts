import { FrameParser } from '../../../src/codec/parse-frame.ts'
import type { ParseTask } from '../../../src/codec/parse-task.types.ts'
import type { ParsePool } from '../../../src/ingest/parse/parse-pool.ts'
import type { Sequence } from '../../../src/wal/sequence.ts'
import type { NewEntry } from '../../../src/wal/wal.types.ts'

/** Parses where it is asked. */
export function inlinePool(): ParsePool {
  const parser = new FrameParser()
  const submit = async (task: ParseTask, use: (result: ReturnType<FrameParser['parse']>) => Promise<void>) => ({
    done: use(parser.parse(task)),
  })
  // Nothing else of a pool is used.
  return { submit } as unknown as ParsePool
}

/** Keeps what it is given, or takes nothing. */
export function memoryLog({ isFull = false } = {}) {
  const batches: (readonly NewEntry[])[] = []
  let last = 0
  const append = async (entries: readonly NewEntry[]): Promise<readonly Sequence[]> => {
    if (isFull) throw new Error('the disk is full')
    batches.push(entries)
    // A sequence is a number of the log.
    return entries.map(() => {
      last += 1
      return last as Sequence
    })
  }
  return { append, batches }
}
