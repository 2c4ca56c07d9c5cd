import { Readable } from 'node:stream'

const bufferBytes = 256 * 1024

/**
 * A stream of what a generator gives. `Readable.from` would wait for the next chunk before it lets itself be destroyed; here
 * `stop` ends the waiting.
 */
export function readableOf(chunks: AsyncGenerator<Buffer>, stop: AbortController): Readable {
  const stream = new Readable({
    highWaterMark: bufferBytes,
    read() {
      chunks.next().then(
        ({ done, value }) => this.push(done === true ? null : value),
        (error: unknown) => this.destroy(error instanceof Error ? error : new Error(String(error))),
      )
    },
    destroy(error, callback) {
      stop.abort(error ?? new Error('the reading of a file was stopped'))
      // What the generator ends with was told already, or is the stopping itself.
      chunks.return(undefined).then(
        () => callback(error),
        () => callback(error),
      )
    },
  })
  // It may fail while nobody reads it; its reader is told.
  stream.on('error', () => {})
  return stream
}
