// The package as `npm pack` makes it, and the program that it brings.

import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import process from 'node:process'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import { repositoryRoot } from './repository-root.ts'

export const run = promisify(execFile)

/** Packs what is built into `folder`; gives the path of the tarball. */
export async function packPackage(folder: string): Promise<string> {
  const args = ['pack', '--ignore-scripts', '--silent', '--pack-destination', folder]
  const { stdout } = await run('npm', args, { cwd: repositoryRoot })
  return join(folder, stdout.trim())
}

/** The service of a program that was just started. */
export class StartedProgram {
  readonly child: ChildProcess
  readonly exited: Promise<number | string>
  log = ''

  constructor(
    t: Test,
    command: readonly [string, ...string[]],
    options: { readonly cwd: string; readonly dataDir: string },
  ) {
    const [file, ...args] = command
    // As a user has it: what the program needs it sets by itself.
    const { UV_THREADPOOL_SIZE: _, JE_MALLOC_CONF: __, ...inherited } = process.env
    const env = { ...inherited, MILLRACE_PORT: '0', MILLRACE_DATA_DIR: options.dataDir }
    this.child = spawn(file, args, { cwd: options.cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
    this.exited = once(this.child, 'exit').then(([code, signal]) => code ?? signal)
    this.child.stderr?.on('data', (text: Buffer) => {
      this.log += text.toString()
    })
    t.teardown(() => this.child.kill('SIGKILL'))
  }

  /** Resolves when the service listens, with its address. */
  async address(): Promise<string> {
    if (this.child.stdout === null) throw new Error('stdout is a pipe')
    for await (const line of createInterface({ input: this.child.stdout })) {
      const address = / listens on (http:\S+)$/.exec(line)?.[1]
      if (address !== undefined) return address
    }
    throw new Error(`The program ended: ${this.log}`)
  }
}
