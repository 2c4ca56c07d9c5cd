import process from 'node:process'

/** What the system's linker and Node need of the service's environment. */
const inheritedNames = ['PATH', 'LD_LIBRARY_PATH', 'TMPDIR', 'NODE_V8_COVERAGE'] as const

/** Threads beside those of the sessions: for files, and for sessions that replace lost ones. */
const spareThreads = 14

/**
 * The environment of the engine's process. It has nothing of the service's that could be a secret: whatever a statement may
 * come to read of its own process, no token stands there.
 */
export function engineEnvironment(sessionCount: number): Record<string, string> {
  const inherited = inheritedNames.flatMap((name) => {
    // biome-ignore lint/style/noProcessEnv: these are handed on, and mean nothing to the service.
    const value = process.env[name]
    return value === undefined ? [] : [[name, value] as const]
  })
  return {
    ...Object.fromEntries(inherited),
    // The engine takes its time zone from here alone, and ignores its config file's.
    TZ: 'UTC',
    // It has the rules of all zones in itself. For other names it would look into the system's directory; here is none.
    TZDIR: '/dev/null',
    // Each running statement holds a thread of libuv's pool.
    UV_THREADPOOL_SIZE: String(sessionCount + spareThreads),
    // The allocator keeps freed pages for 5 s by default, in which a long import frees and takes memory a hundred times. With
    // 100 ms it gives them back between two INSERTs, and the next one faults them in again: a tenth of a populate.
    JE_MALLOC_CONF: 'dirty_decay_ms:1000',
  }
}
