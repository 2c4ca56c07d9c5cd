import { execFileSync } from 'node:child_process'
import process from 'node:process'

// The signal that comes with the error ends the process otherwise.
process.on('SIGXFSZ', () => undefined)

/**
 * From now on every file of this process that would be written behind its first byte refuses, as a full disk does, with EFBIG.
 * The limit is of the process and soft, so no rights are needed, and nothing is mounted. Gives back what lets files be
 * written again.
 */
export function refuseFileWrites(): () => void {
  const { error } = console
  // lmdb tells a failed commit there, and where stderr is a file, that would refuse too.
  console.error = () => undefined
  setLimit('1:')
  return () => {
    setLimit('unlimited:')
    console.error = error
  }
}

function setLimit(limit: string): void {
  execFileSync('prlimit', ['--pid', String(process.pid), `--fsize=${limit}`])
}
