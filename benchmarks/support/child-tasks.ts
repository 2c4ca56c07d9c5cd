import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'

/** A process that takes one task at a time and reports on it. */
export interface TaskChild<Task, Report> {
  readonly pid: number
  /** @throws Error when the process ends instead of reporting. */
  ask(task: Task): Promise<Report>
  close(): Promise<void>
}

/** Starts a module of the benchmarks as a process that answers each message with one message. It ends with this one. */
export function startTaskChild<Task extends object, Report>(
  modulePath: string,
  execArgv: readonly string[] = process.execArgv,
): TaskChild<Task, Report> {
  const child = fork(modulePath, { execArgv: [...execArgv] })
  const { pid } = child
  if (pid === undefined) throw new Error(`cannot run ${modulePath}`)
  return {
    pid,
    ask: async (task) => {
      child.send(task)
      return (await nextMessage(child)) as Report // The caller names the type of what the module reports.
    },
    close: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, 'exit')
      child.disconnect()
      await ended
    },
  }
}

async function nextMessage(child: ChildProcess): Promise<unknown> {
  const stop = new AbortController()
  const ended = once(child, 'exit', { signal: stop.signal }).then(() =>
    Promise.reject(new Error(`the process ${child.spawnfile} of the benchmark ended`)),
  )
  const [message] = await Promise.race([once(child, 'message', { signal: stop.signal }), ended]).finally(() =>
    stop.abort(),
  )
  return message
}
