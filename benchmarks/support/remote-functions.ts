import { fork } from 'node:child_process'
import { once } from 'node:events'

type Functions = Readonly<Record<string, (task: never) => unknown>>

/** A process that performs functions, one call at a time; tasks and results are copied. */
export interface Remote<Served extends Functions> {
  readonly pid: number
  /** @throws Error when the function fails, and when the process ends instead of answering. */
  call<Name extends keyof Served & string>(
    name: Name,
    task: Parameters<Served[Name]>[0],
  ): Promise<Awaited<ReturnType<Served[Name]>>>
  /** Ends the process when it has nothing to do. */
  close(): Promise<void>
  kill(): void
}

type Outcome = { readonly result: unknown } | { readonly error: string }

/** Starts a module that calls `serveFunctions`. It ends with this process. */
export function startRemote<Served extends Functions>(
  modulePath: string,
  execArgv: readonly string[] = process.execArgv,
): Remote<Served> {
  const child = fork(modulePath, { execArgv: [...execArgv], serialization: 'advanced' })
  const { pid } = child
  if (pid === undefined) throw new Error(`cannot run ${modulePath}`)
  const answer = async (): Promise<Outcome> => {
    const stop = new AbortController()
    const { signal } = stop
    const ended = once(child, 'exit', { signal }).then(() => Promise.reject(new Error(`${modulePath} ended`)))
    try {
      const [outcome]: Outcome[] = await Promise.race([once(child, 'message', { signal }), ended])
      return outcome ?? { error: 'nothing' }
    } finally {
      stop.abort()
    }
  }
  return {
    pid,
    call: async (name, task) => {
      const answered = answer()
      child.send({ name, task })
      const outcome = await answered
      if ('error' in outcome) throw new Error(`${name}: ${outcome.error}`)
      return outcome.result as never // The module that serves the function has its type.
    },
    close: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, 'exit')
      child.disconnect()
      await ended
    },
    kill: () => child.kill('SIGKILL'),
  }
}

/** The other end, in the process that is started. */
export function serveFunctions(functions: Functions): void {
  process.on('message', ({ name, task }: { readonly name: string; readonly task: never }) => {
    const perform = async () => functions[name]?.(task)
    perform().then(
      (result) => send({ result }),
      (error: unknown) => send({ error: error instanceof Error ? error.message : String(error) }),
    )
  })
  process.on('disconnect', () => process.exit(0))
}

function send(outcome: Outcome): void {
  process.send?.(outcome)
}
