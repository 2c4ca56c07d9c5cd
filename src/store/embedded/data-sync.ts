/**
 * Brings what the engine has written onto the disk: parts and deduplication records, of which it syncs neither.
 *
 * Measured beside the engine's own settings (`fsync_after_insert`, `fsync_part_directory`): those cost 2 ms and more for
 * each part and leave the records out; one sync of the whole file system costs 1 to 20 ms, however many parts there are,
 * and happens only before the log lets go of a segment, and before an import is answered.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { diskFaultIn } from '../../shared/disk-fault.ts'

const timeoutMs = 120_000
/** More than a sync says; what is behind it is not kept. */
const wordsCharsMax = 4096

/** What became of a sync: `unsupported` where the machine has no such command. */
export type SyncOutcome = 'synced' | 'unsupported'

/**
 * Syncs for each line that it reads, and answers with a line: the exit code and the words of `sync`. It ends with its input,
 * and so with the service, and not with the signals that a terminal or a supervisor sends to all processes.
 */
const script = `trap '' HUP INT TERM
set -f
while read -r _; do
  words=$(sync -f "$1" 2>&1)
  echo "$?" $words
done`

interface Waiter {
  readonly resolve: (answer: string) => void
  readonly reject: (error: unknown) => void
}

/**
 * Syncs the file system that holds a directory, by syncfs(2), which coreutils and busybox offer and Node does not.
 *
 * A shell stands by that starts `sync`: to start a process copies the page table of the one that starts it, which holds the
 * event loop of a service of 300 MB for 15 ms.
 */
export class FileSystemSync {
  readonly #directory: string
  #shell: StandingShell | null = null

  constructor(directory: string) {
    this.#directory = directory
  }

  /** Starts the shell, while the service is small. */
  open(): void {
    this.#shell ??= new StandingShell(this.#directory)
  }

  /** @throws Error when the disk refused some of it: nothing that relies on it may be forgotten then. */
  async run(): Promise<SyncOutcome> {
    const answer = (await this.#ask()) ?? (await this.#ask())
    if (answer === null) throw new SyncError('the process that syncs was ended twice')
    if (answer === 'absent') return 'unsupported'
    const code = Number.parseInt(answer, 10)
    const words = answer.slice(String(code).length + 1)
    if (code === 0) return 'synced'
    if (code === commandAbsent || isUnsupported(words)) return 'unsupported'
    throw new SyncError(words)
  }

  close(): void {
    this.#shell?.close()
    this.#shell = null
  }

  /** Null when the shell ended without an answer: somebody killed it. */
  async #ask(): Promise<string | null> {
    if (this.#shell?.hasEnded === true) this.#shell = null
    this.open()
    return (await this.#shell?.ask()) ?? null
  }
}

/** What a shell says of a command that there is not. */
const commandAbsent = 127

class StandingShell {
  hasEnded = false
  readonly #child: ChildProcessByStdio<Writable, Readable, null>
  readonly #waiters: Waiter[] = []
  #said = ''

  constructor(directory: string) {
    this.#child = spawn('sh', ['-c', script, 'sh', directory], { stdio: ['pipe', 'pipe', 'ignore'] })
    this.#child.on('error', (error) => this.#end(error))
    this.#child.on('close', () => this.#end(null))
    // Its end is told by `close`.
    this.#child.stdin.on('error', () => undefined)
    this.#child.stdout.setEncoding('utf8').on('data', (text: string) => this.#read(text))
  }

  /** The line that answers; `absent` where there is no shell, null when it ended. */
  async ask(): Promise<string | null> {
    let timer: NodeJS.Timeout | undefined
    try {
      return await new Promise<string>((resolve, reject) => {
        timer = setTimeout(() => {
          this.#end(new SyncError(`it took more than ${timeoutMs / 1000} seconds`))
          this.#child.kill('SIGKILL')
        }, timeoutMs)
        this.#waiters.push({ resolve, reject })
        this.#child.stdin.write('\n')
      })
    } catch (thrown) {
      if (thrown instanceof ShellEnded) return null
      if (thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT') return 'absent'
      throw thrown
    } finally {
      clearTimeout(timer)
    }
  }

  close(): void {
    this.#child.stdin.end()
  }

  #read(text: string): void {
    const lines = (this.#said + text).split('\n')
    this.#said = lines.pop()?.slice(0, wordsCharsMax) ?? ''
    for (const line of lines) this.#waiters.shift()?.resolve(line)
  }

  #end(reason: Error | null): void {
    this.hasEnded = true
    for (const { reject } of this.#waiters.splice(0)) reject(reason ?? new ShellEnded())
  }
}

class ShellEnded extends Error {
  override readonly name = 'ShellEnded'
}

/** The disk refused to take what was written; `diskFaultOf` knows why. */
class SyncError extends Error {
  override readonly name = 'SyncError'
  readonly diskFault: string | null

  constructor(words: string) {
    super(`what was written could not be brought onto the disk: ${words}`)
    this.diskFault = diskFaultIn(words)
  }
}

function isUnsupported(words: string): boolean {
  return /invalid option|unrecognized option|illegal option|usage:/i.test(words)
}
