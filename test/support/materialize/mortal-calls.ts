import type { Store } from '../../../src/store/store.types.ts'

/** Counts what is asked of a store, and kills whoever asks in front of one of these calls. */
export class MortalCalls {
  count = 0
  /** In front of which call, counted from 1; 0 kills nobody. */
  killAt = 0
  kill: () => void = () => undefined
  #killed: () => void = () => undefined
  /** Resolves when somebody is killed. */
  readonly killed = new Promise<void>((resolve) => {
    this.#killed = resolve
  })

  /** A store with these calls. */
  over = (store: Store): Store => this.#counted(store)

  #counted<Thing extends object>(thing: Thing): Thing {
    return new Proxy(thing, {
      get: (real, name) => {
        const member: unknown = Reflect.get(real, name)
        if (typeof member === 'object' && member !== null) return this.#counted(member)
        if (typeof member !== 'function') return member
        return (...args: readonly unknown[]) => {
          this.count += 1
          if (this.count === this.killAt) {
            this.kill()
            this.#killed()
            return new Promise(() => undefined)
          }
          return Reflect.apply(member, real, args)
        }
      },
    })
  }
}
