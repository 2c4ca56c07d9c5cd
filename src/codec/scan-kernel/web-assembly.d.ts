/** The part of WebAssembly's JavaScript interface that the kernel's host uses; Node's own types leave it to those of browsers. */
declare namespace WebAssembly {
  class Module {
    constructor(bytes: Uint8Array)
  }

  class Instance {
    constructor(module: Module, imports: Readonly<Record<string, Readonly<Record<string, unknown>>>>)
    readonly exports: Readonly<Record<string, unknown>>
  }

  class Memory {
    constructor(limits: { readonly initial: number; readonly maximum: number })
    /** A new one whenever the memory has grown; the one before is empty then. */
    readonly buffer: ArrayBuffer
    /** Grows by so many pages of 64 KiB. Throws RangeError. */
    grow(pages: number): number
  }
}
