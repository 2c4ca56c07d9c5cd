import type { ImportRequest } from './imports.types.ts'
import type { RecognisedRows } from './recognise-rows.ts'

/**
 * What ends an import in its middle: whoever stops it, and whoever asked for it and waits no longer.
 *
 * The latter ends only an import whose bytes may take far longer than they took to arrive. Where they have not arrived they
 * fail by themselves, and where they have, and are not packed, the import is nearly done.
 */
export class ImportEnding {
  readonly #controller = new AbortController()
  readonly #abandoned: AbortSignal | undefined

  constructor({ signal, abandoned }: Pick<ImportRequest, 'abandoned' | 'signal'>) {
    this.#abandoned = abandoned
    this.#follow(signal)
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  knowRows({ contentEncoding, format }: Pick<RecognisedRows, 'contentEncoding' | 'format'>): void {
    const mayGrow = contentEncoding !== undefined || format === 'parquet'
    if (mayGrow && this.#abandoned !== undefined) this.#follow(this.#abandoned)
  }

  #follow(signal: AbortSignal): void {
    if (signal.aborted) this.#controller.abort(signal.reason)
    else signal.addEventListener('abort', () => this.#controller.abort(signal.reason), { once: true })
  }
}
