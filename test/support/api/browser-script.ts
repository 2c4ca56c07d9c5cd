import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createContext, runInContext } from 'node:vm'

interface SentEvent {
  readonly status: number
  readonly text: string
}

/**
 * Runs the script of @tinybirdco/flock.js as a page would load it, and gives what its `trackEvent` is answered: the script itself
 * does not look.
 */
export async function trackEvent(
  attributes: Readonly<Record<string, string>>,
  [action, payload]: readonly [string, object],
): Promise<SentEvent> {
  const sent: Promise<SentEvent>[] = []
  /** As much of the browser's as the script uses. */
  class PageRequest {
    #method = ''
    #url = ''
    readonly #headers = new Headers()

    open(method: string, url: string): void {
      this.#method = method
      this.#url = url
    }

    setRequestHeader(name: string, value: string): void {
      this.#headers.set(name, value)
    }

    send(body: string): void {
      const asked = fetch(this.#url, { method: this.#method, headers: this.#headers, body })
      sent.push(asked.then(async (response) => ({ status: response.status, text: await response.text() })))
    }
  }
  const currentScript = { attributes: [], getAttribute: (name: string) => attributes[name] ?? null }
  const addEventListener = (): void => {}
  // A page that is being rendered in advance sends nothing of its own.
  const document = { currentScript, cookie: '', visibilityState: 'prerender', addEventListener }
  const window: {
    readonly [name: string]: unknown
    Tinybird?: { trackEvent(action: string, payload: object): unknown }
  } = {
    addEventListener,
    history: {},
  }
  const require = createRequire(import.meta.url)
  const path = require.resolve('@tinybirdco/flock.js/dist/index.js')
  runInContext(readFileSync(path, 'utf8'), createContext({ document, window, crypto, XMLHttpRequest: PageRequest }))
  await window.Tinybird?.trackEvent(action, payload)
  const [first] = sent
  if (first === undefined) throw new Error('the script sent nothing')
  return await first
}
