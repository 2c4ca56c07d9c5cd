import { startRefusals } from '../../shared/errors/start-refusals.ts'
import { listEntries } from './address-list.ts'

/** The origins whose pages may use the API. */
export class AllowedOrigins {
  readonly areAll: boolean
  readonly #exact: ReadonlySet<string>
  /** For `https://*.example.org`: what an origin begins with, and what it ends with. */
  readonly #patterns: readonly { readonly start: string; readonly end: string }[]

  /**
   * @param text origins separated by commas, the first label of a host may be `*`; `*` for all, `none` for none.
   * @throws StartRefusal HTTP_OPTION_INVALID.
   */
  constructor(text: string) {
    const entries = text === 'none' ? [] : listEntries(text).map((entry) => entry.toLowerCase())
    this.areAll = entries.includes('*')
    for (const entry of entries) if (entry !== '*' && !entryPattern.test(entry)) throw invalid(entry)
    this.#exact = new Set(entries.filter((entry) => !entry.includes('*')))
    this.#patterns = entries
      .filter((entry) => entry.includes('://*.'))
      .map((entry) => ({ start: entry.slice(0, entry.indexOf('*')), end: entry.slice(entry.indexOf('*') + 1) }))
  }

  /** `origin` as browsers send it, in lower case. */
  has(origin: string): boolean {
    if (this.areAll || this.#exact.has(origin)) return true
    return this.#patterns.some(({ start, end }) => {
      const isLongEnough = origin.length > start.length + end.length
      if (!isLongEnough || !origin.startsWith(start) || !origin.endsWith(end)) return false
      return labelsPattern.test(origin.slice(start.length, -end.length))
    })
  }
}

/** What may stand for `*`: labels of a host, as all else would make another host of what stands before the end. */
const labelsPattern = /^[\w-]+(?:\.[\w-]+)*$/

/** A scheme and a host with a port where it is not that of the scheme, without a path (RFC 6454, 6.1). */
const entryPattern = /^[a-z][a-z\d+.-]*:\/\/(?:\*\.)?(?:[\w.-]+|\[[\da-f:]+\])(?::\d{1,5})?$/

function invalid(entry: string): Error {
  const expected = 'an origin such as https://app.example.com, without a path'
  return startRefusals.HTTP_OPTION_INVALID({ option: 'cors-origins', entry, expected })
}
