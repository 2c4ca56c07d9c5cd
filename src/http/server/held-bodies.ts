// Requests whose client holds its body back until it gets `100 Continue`, with what sends that.

const heldBodies = new WeakMap<object, () => void>()

/** Notes that the client of a request, of HTTP/1.1 or HTTP/2, holds its body back. */
export function holdBody(request: object, sendContinue: () => void): void {
  heldBodies.set(request, sendContinue)
}

export function isHeld(request: object): boolean {
  return heldBodies.has(request)
}

/** True when its body was held back until now. */
export function forgetHeld(request: object): boolean {
  return heldBodies.delete(request)
}

/** Has the client send its body, if it holds it back. */
export function askForBody(request: object): void {
  heldBodies.get(request)?.()
  heldBodies.delete(request)
}
