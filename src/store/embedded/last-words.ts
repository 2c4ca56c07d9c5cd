import type { Readable } from 'node:stream'
import type { Logger } from '../../observe/logger.ts'

const keptCharactersMax = 4_096
const loggedLinesMax = 100

/** Reads what a process writes on stderr, so that it never waits for it; logs its first lines, and keeps its last ones. */
export class LastWords {
  #kept = ''
  #rest = ''
  #lineCount = 0
  readonly #logger: Logger

  constructor(output: Readable | null, logger: Logger) {
    this.#logger = logger
    output?.setEncoding('utf8')
    output?.on('data', (text: string) => this.#take(text))
  }

  get text(): string {
    return this.#kept.trim()
  }

  #take(text: string): void {
    this.#kept = (this.#kept + text).slice(-keptCharactersMax)
    const lines = (this.#rest + text).split('\n')
    this.#rest = (lines.pop() ?? '').slice(-keptCharactersMax)
    for (const line of lines) this.#log(line)
  }

  #log(line: string): void {
    if (line.trim().length === 0 || this.#lineCount > loggedLinesMax) return
    this.#lineCount += 1
    const isLast = this.#lineCount > loggedLinesMax
    this.#logger.warn({ line: isLast ? 'further lines are not logged' : line }, 'The engine wrote a line on stderr.')
  }
}
