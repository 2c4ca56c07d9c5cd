import { fileURLToPath } from 'node:url'
import { assert } from '../../src/shared/assert.ts'
import type { SenderAnswer, SenderReport, SenderRequest, SenderTask } from './body-sender.types.ts'
import { startTaskChild } from './child-tasks.ts'
import type { BodyPlan } from './workload-bytes.ts'

/** The other end of `body-sender.ts`: bodies are made and sent in a process of their own. */
export interface SendingProcess {
  /** Writes the body to `path` and resolves to its size. */
  write(plan: BodyPlan, path: string): Promise<number>
  sendFile(path: string, request: SenderRequest): Promise<SenderAnswer>
  sendRepeated(plan: BodyPlan, byteCount: number, request: SenderRequest): Promise<SenderAnswer>
  close(): Promise<void>
}

/** Starts the sending process. It ends with this one. */
export function startSendingProcess(): SendingProcess {
  const child = startTaskChild<SenderTask, SenderReport>(fileURLToPath(import.meta.resolve('./body-sender.js')))
  const answerTo = async (task: SenderTask): Promise<SenderAnswer> => {
    const report = await child.ask(task)
    if (report.kind === 'failed') throw new Error(`sending failed: ${report.message}`)
    assert(report.kind === 'answered', 'a sent body is answered')
    return report.answer
  }

  return {
    write: async (plan, path) => {
      const report = await child.ask({ kind: 'write', plan, path })
      if (report.kind === 'failed') throw new Error(`writing failed: ${report.message}`)
      assert(report.kind === 'written', 'a body to write is written')
      return report.byteCount
    },
    sendFile: (path, request) => answerTo({ kind: 'sendFile', path, request }),
    sendRepeated: (plan, byteCount, request) => answerTo({ kind: 'sendRepeated', plan, byteCount, request }),
    close: () => child.close(),
  }
}
