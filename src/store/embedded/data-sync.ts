/**
 * Brings what the engine has written onto the disk: parts and deduplication records, of which it syncs neither.
 *
 * Measured beside the engine's own settings (`fsync_after_insert`, `fsync_part_directory`): those cost 2 ms and more for
 * each part and leave the records out; one sync of the whole file system costs 1 to 20 ms, however many parts there are,
 * and happens only before the log lets go of a segment, and before an import is answered.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import process from 'node:process'
import { diskFaultIn, diskFaultOf, reasonOf } from '../../shared/disk-fault.ts'

const timeoutMs = 120_000
/** More than a sync says; what is behind it is not kept. */
const wordsCharsMax = 4096

/** What became of a sync: `unsupported` where the machine has no such command. */
export type SyncOutcome = 'synced' | 'unsupported'

/**
 * Syncs for each line that it reads, and answers with a line: the exit code and the words of `sync`, in English, whatever
 * they are. It ends with its input, and so with the service, and not with the signals that a terminal or a supervisor sends
 * to all processes.
 */
const script = `trap '' HUP INT TERM
set -f
while read -r _; do
  words=$(LC_ALL=C sync -f "$1" 2>&1)
  printf '%s ' "$?" $words
  echo
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
  #isClosed = false

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
    if (answer === null) throw new SyncError('the process that syncs was ended')
    if (answer === 'absent') return 'unsupported'
    const code = Number.parseInt(answer, 10)
    const words = answer.slice(String(code).length + 1).trim()
    if (code === 0) return 'synced'
    if (absentCodes.has(code) || isUnsupported(words)) return 'unsupported'
    throw new SyncError(words)
  }

  /** Ends a sync that runs too: it may be one without an end. */
  close(): void {
    this.#isClosed = true
    this.#shell?.close()
    this.#shell = null
  }

  /** Null when the shell ended without an answer: somebody killed it. */
  async #ask(): Promise<string | null> {
    if (this.#isClosed) return null
    if (this.#shell?.hasEnded === true) this.#shell = null
    this.open()
    return (await this.#shell?.ask()) ?? null
  }
}

/** What a shell says of a command that there is not, or that cannot be run; and Node of a shell. */
const absentCodes: ReadonlySet<number> = new Set([126, 127])
const absentErrors: ReadonlySet<unknown> = new Set(['ENOENT', 'EACCES'])

class StandingShell {
  hasEnded = false
  readonly #child: ChildProcess
  readonly #waiters: Waiter[] = []
  #said = ''
  /** The end of this process, whatever it comes by, must not leave one behind that is stopped, or waits for a disk. */
  readonly #endAtExit = (): void => this.#kill()

  constructor(directory: string) {
    // A group of its own, so that it can be ended with the `sync` that it waits for.
    this.#child = spawn('sh', ['-c', script, 'sh', directory], { stdio: ['pipe', 'pipe', 'ignore'], detached: true })
    this.#child.on('error', (error) => this.#end(error))
    this.#child.on('close', () => this.#end(null))
    process.on('exit', this.#endAtExit)
    // There are no pipes where there was no descriptor for them, which is an error of the child.
    const { stdin, stdout } = this.#child
    // Its end is told by `close`.
    stdin?.on('error', () => undefined)
    stdout?.setEncoding('utf8').on('data', (text: string) => this.#read(text))
  }

  /** The line that answers; `absent` where there is no shell, null when it ended. */
  async ask(): Promise<string | null> {
    let timer: NodeJS.Timeout | undefined
    try {
      return await new Promise<string>((resolve, reject) => {
        timer = setTimeout(() => {
          this.#end(new SyncError(`it took more than ${timeoutMs / 1000} seconds`))
          this.#kill()
        }, timeoutMs)
        this.#waiters.push({ resolve, reject })
        this.#child.stdin?.write('\n')
      })
    } catch (thrown) {
      if (thrown instanceof ShellEnded) return null
      if (thrown instanceof SyncError || !(thrown instanceof Error)) throw thrown
      if ('code' in thrown && absentErrors.has(thrown.code)) return 'absent'
      throw new SyncError(thrown.message, { cause: thrown })
    } finally {
      clearTimeout(timer)
    }
  }

  close(): void {
    this.#child.stdin?.end()
    if (this.#waiters.length > 0) this.#kill()
  }

  #kill(): void {
    const { pid } = this.#child
    if (pid === undefined || this.#child.exitCode !== null || this.#child.signalCode !== null) return
    process.kill(-pid, 'SIGKILL')
  }

  #read(text: string): void {
    const lines = (this.#said + text).split('\n')
    this.#said = lines.pop()?.slice(0, wordsCharsMax) ?? ''
    for (const line of lines) this.#waiters.shift()?.resolve(line.slice(0, wordsCharsMax))
  }

  #end(reason: Error | null): void {
    this.hasEnded = true
    process.off('exit', this.#endAtExit)
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

  constructor(words: string, { cause }: { readonly cause?: Error } = {}) {
    super(`what was written could not be brought onto the disk: ${words}`, { cause })
    // Whatever it says, what was written is not known to be on the disk.
    this.diskFault = diskFaultIn(words) ?? diskFaultOf(cause) ?? reasonOf('EIO')
  }
}

function isUnsupported(words: string): boolean {
  return /invalid option|unrecognized option|illegal option|usage:/i.test(words)
}
