/** The parse worker: a task in, `codec` called, buffers transferred back. */
import { move, transferableSymbol, valueSymbol } from 'piscina'
import { FrameParser } from '../src/codec/parse-frame.ts'
import type { ParseTask } from '../src/codec/parse-task.types.ts'

const parser = new FrameParser()

/** Parses one frame and gives a `ParseResult`, whose buffers piscina moves to the main thread. */
export function parse(task: ParseTask): unknown {
  const result = parser.parse(task)
  const views = [result.frame, result.block, result.quarantineBlock].filter((view) => view !== null)
  return move({ [transferableSymbol]: views.map((view) => view.buffer), [valueSymbol]: result })
}

/** Does nothing: it is answered once the modules are loaded. */
export function load(): void {}
