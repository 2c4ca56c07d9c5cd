/**
 * The process of the engine: takes statements from the service over its descriptor 3, and gives back what the engine says.
 *
 * It lives no longer than the service does: the signals of a terminal or a supervisor, which reach all processes of a group,
 * leave it alone, as the service closes it in order; and when the connection ends without that, so does the process, at
 * once. Nothing is lost by it: that is what the log and the deduplication records are for.
 */
import { write, writeFileSync, writeSync } from 'node:fs'
import { Socket } from 'node:net'
import process from 'node:process'
import { drainPending } from 'chdb'
import type { ChdbSession } from './chdb-session.ts'
import { isLockedByAnother, openChdbSession } from './chdb-sessions.ts'
import { CrashWatch } from './crash-watch.ts'
import {
  answerKinds,
  bytesFrame,
  type Frame,
  FrameReader,
  frameHeader,
  requestKinds,
  textFrame,
} from './engine-frames.ts'
import type { EngineRefusal, OpenOrder, SessionRole } from './engine-session.types.ts'

const connectionDescriptor = 3
/** The service's own stderr; the one of this process is drained by the service. */
const serviceErrorsDescriptor = 4
const beatIntervalMs = 1_000
const lastWordsMaxMs = 200
/** So large an output is copied into its frame; a larger one follows its header. */
const smallOutputBytes = 64 * 1024
/** Of a score from -1000 to 1000: where memory is short, the system ends this process before the service. */
const memoryKillScore = 500

const connection = new Socket({ fd: connectionDescriptor, readable: true, writable: true })
const sessions = new Map<number, ChdbSession>()
const crashWatch = new CrashWatch('self')
let order: OpenOrder | undefined
let sessionCount = 0
let isClosing = false

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
preferForMemoryKill()
const reader = new FrameReader(take)
connection.on('data', (chunk: Buffer) => reader.push(chunk))
connection.on('error', () => undefined)
connection.on('close', endWithService)
setInterval(beat, beatIntervalMs)

function take({ kind, session, payload }: Frame): void {
  switch (kind) {
    case requestKinds.run:
      void run(session, payload.toString())
      return
    case requestKinds.open:
      // The service is the only one who writes here.
      open(JSON.parse(payload.toString()) as OpenOrder)
      return
    case requestKinds.add:
      // The same.
      add(payload.toString() as SessionRole)
      return
    case requestKinds.drop:
      drop(session)
      return
    case requestKinds.close:
      void close()
  }
}

function open(given: OpenOrder): void {
  order = given
  try {
    for (const role of given.roles) addSession(role, given)
    connection.write(textFrame(answerKinds.opened, 0, ''))
  } catch (thrown) {
    const refusal: EngineRefusal = { isInUse: isLockedByAnother(given.directory), reason: wordsOf(thrown) }
    connection.write(textFrame(answerKinds.refused, 0, JSON.stringify(refusal)))
  }
}

function addSession(role: SessionRole, given: OpenOrder): number {
  const number = sessionCount
  sessions.set(number, openChdbSession(role, given))
  sessionCount += 1
  return number
}

function add(role: SessionRole): void {
  const number = sessionCount
  try {
    if (order === undefined) throw new Error('the engine is not open')
    addSession(role, order)
    connection.write(textFrame(answerKinds.added, 0, String(number)))
  } catch (thrown) {
    connection.write(textFrame(answerKinds.notAdded, 0, wordsOf(thrown)))
  }
}

/** The statement of the session has ended: the service drops none before. */
function drop(number: number): void {
  sessions.get(number)?.close()
  sessions.delete(number)
}

async function run(number: number, sql: string): Promise<void> {
  const session = sessions.get(number)
  try {
    if (session === undefined) throw new Error('the engine has no such session')
    const output = await session.run(sql)
    if (output.byteLength <= smallOutputBytes) {
      send(bytesFrame(answerKinds.output, number, output))
      return
    }
    connection.cork()
    connection.write(frameHeader(answerKinds.output, number, output.byteLength))
    connection.write(output)
    connection.uncork()
  } catch (thrown) {
    connection.write(textFrame(answerKinds.failed, number, wordsOf(thrown)))
  }
}

/** A small frame goes out at once, past what a stream does for each write, unless others wait before it. */
function send(frame: Buffer): void {
  let sentBytes = 0
  try {
    if (connection.writableLength === 0) sentBytes = writeSync(connectionDescriptor, frame)
  } catch (thrown) {
    // EAGAIN: the service is behind with its reading. Of anything else, such as its end, the stream tells.
    if (!(thrown instanceof Error && 'code' in thrown)) throw thrown
  }
  if (sentBytes < frame.byteLength) connection.write(frame.subarray(sentBytes))
}

async function close(): Promise<void> {
  isClosing = true
  await drainPending()
  for (const session of sessions.values()) session.close()
  await drainPending()
  connection.end(textFrame(answerKinds.closed, 0, ''), () => process.exit(0))
}

function beat(): void {
  const thread = crashWatch.crashedThread()
  if (thread === null) connection.write(textFrame(answerKinds.beat, 0, ''))
  else connection.write(textFrame(answerKinds.crashed, 0, thread), () => process.kill(process.pid, 'SIGKILL'))
}

function endWithService(): void {
  const end = (): void => {
    process.kill(process.pid, 'SIGKILL')
  }
  if (isClosing) end()
  // Nobody may read it any more, and a write would wait for ever then.
  setTimeout(end, lastWordsMaxMs)
  write(serviceErrorsDescriptor, 'millrace: the service ended without closing its engine, which ends too\n', end)
}

function preferForMemoryKill(): void {
  try {
    writeFileSync('/proc/self/oom_score_adj', String(memoryKillScore))
  } catch {
    // Another system than Linux, which has no such choice.
  }
}

function wordsOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}
