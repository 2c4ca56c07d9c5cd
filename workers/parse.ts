/** The parse worker: a task in, `codec` called; buffers transferred back, or parts written to their files. */
import { closeSync, openSync, unlinkSync, writeSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { move, transferableSymbol, valueSymbol } from 'piscina'
import type { PartFile } from '../src/codec/arrow/part.types.ts'
import { FrameParser } from '../src/codec/parse-frame.ts'
import type { ParseTask } from '../src/codec/parse-task.types.ts'

const parser = new FrameParser()

// A kernel that has grown is left for a new one, but an idle thread collects no garbage, and keeps its gigabytes.
setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** Parses one frame and gives a `ParseResult`, whose buffers piscina moves to the main thread unless they are shared. */
export function parse(task: ParseTask): unknown {
  try {
    return parseTask(task)
  } finally {
    // At once: between tasks the thread waits without turns of its event loop.
    if (parser.hasLeftKernel()) collectGarbage()
  }
}

function parseTask(task: ParseTask): unknown {
  const { partPaths } = task
  const result =
    partPaths === null
      ? parser.parse(task)
      : parser.parseInto(task, {
          rows: (chunks) => writePart(partPaths.rows, chunks),
          quarantine: (chunks) => writePart(partPaths.quarantine, chunks),
        })
  const views = [result.frame, result.part, result.quarantinePart].filter((view) => view instanceof Uint8Array)
  const buffers = views.flatMap(({ buffer }) => (buffer instanceof ArrayBuffer ? [buffer] : []))
  return move({ [transferableSymbol]: buffers, [valueSymbol]: result })
}

/** Does nothing: it is answered once the modules are loaded. */
export function load(): void {}

/** Writes the chunks out of the columns straight to the file: a part in memory would be copied, moved and collected. */
function writePart(path: string, chunks: readonly Uint8Array[]): PartFile {
  const file = openSync(path, 'wx')
  let byteCount = 0
  try {
    for (const chunk of chunks) byteCount += writeWhole(file, chunk)
  } catch (error) {
    unlinkSync(path)
    throw error
  } finally {
    closeSync(file)
  }
  return { path, byteCount }
}

function writeWhole(file: number, chunk: Uint8Array): number {
  let written = 0
  while (written < chunk.length) written += writeSync(file, chunk, written)
  return written
}
