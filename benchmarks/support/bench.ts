import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

type Defaults = Readonly<Record<string, number | string>>

/** The options of a program, by the names of their defaults. */
export type BenchOptions<Given extends Defaults> = {
  readonly [Name in keyof Given]: Given[Name] extends number ? number : string
} & { readonly out: string }

/**
 * Reads the command line: `querySeconds: 0.5` makes `--query-seconds` an option that is a number. Each program also has
 * `--out`, a file for its result as JSON.
 * @throws Error for an option that is not there, and for a number that is none.
 */
export function readOptions<Given extends Defaults>(defaults: Given): BenchOptions<Given> {
  const all: Defaults = { ...defaults, out: '' }
  const flags = Object.keys(all).map((name) => [flagOf(name), { type: 'string' }] as const)
  const { values } = parseArgs({ options: Object.fromEntries(flags) })
  const read = Object.entries(all).map(([name, byDefault]) => {
    const text = values[flagOf(name)]
    if (typeof text !== 'string') return [name, byDefault] as const
    if (typeof byDefault === 'string') return [name, text] as const
    if (!Number.isFinite(Number(text))) throw new Error(`--${flagOf(name)} takes a number, not ${text}`)
    return [name, Number(text)] as const
  })
  return Object.fromEntries(read) as BenchOptions<Given> // Each value has the type of its default.
}

function flagOf(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}

/** Whether `--only=nested,csv` chooses a case of this name; nothing chooses all. */
export function isChosen(only: string, name: string): boolean {
  return only.split(',').some((part) => name.includes(part))
}

/** What a benchmark holds while it runs. */
export interface Bench {
  /** New, and removed at the end. */
  readonly directory: string
  /** Closes the resource at the end, the last that was opened first; gives it back. */
  opened<Resource extends { close(): Promise<void> }>(resource: Resource): Resource
}

/** Runs with a new directory, in the system's for temporary files or in another. */
export async function withBench<Result>(
  work: (bench: Bench) => Promise<Result>,
  parent: string = tmpdir(),
): Promise<Result> {
  const directory = await mkdtemp(join(parent, 'millrace-bench-'))
  const resources: { close(): Promise<void> }[] = []
  try {
    return await work({
      directory,
      opened: (resource) => {
        resources.unshift(resource)
        return resource
      },
    })
  } finally {
    for (const resource of resources) await resource.close()
    await rm(directory, { recursive: true, force: true })
  }
}
