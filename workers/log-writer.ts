/** The thread of the log: it writes what the ring has, and takes no messages. */
import { workerData } from 'node:worker_threads'
import { LogRing } from '../src/observe/log-ring.ts'
import { type LogWriterOptions, writeLog } from '../src/observe/log-writer.ts'

// Given by `src/observe/log-output.ts`, which alone starts this thread.
const { memory, options } = workerData as { readonly memory: SharedArrayBuffer; readonly options: LogWriterOptions }

writeLog(new LogRing(memory), options)
