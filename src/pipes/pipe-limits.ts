import type { Pipe } from '../catalog/pipe.types.ts'
import { errors } from '../shared/errors/errors.ts'

/** @throws PIPE_TOO_LONG (400) */
export function checkLength({ name, nodes }: Pipe, bytesMax: number): void {
  const byteCount = nodes.reduce((sum, { sql }) => sum + Buffer.byteLength(sql), 0)
  if (byteCount > bytesMax) throw errors.PIPE_TOO_LONG({ pipe: name, bytesMax })
}

/** @throws REQUEST_INVALID (400) */
export function checkDescription(text: string, lengthMax: number): void {
  if (text.length <= lengthMax) return
  throw errors.REQUEST_INVALID({ reason: `a description can have ${lengthMax} characters at most` })
}
