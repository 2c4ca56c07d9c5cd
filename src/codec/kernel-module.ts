import { readFileSync } from 'node:fs'

let compiled: WebAssembly.Module | undefined

/** The kernel's code, which the build puts beside this file; read and compiled once in each thread. */
export function kernelModule(): WebAssembly.Module {
  compiled ??= new WebAssembly.Module(readFileSync(new URL('./kernel.wasm', import.meta.url)))
  return compiled
}
