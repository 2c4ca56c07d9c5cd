import { readFile } from 'node:fs/promises'

const bootIdPath = '/proc/sys/kernel/random/boot_id'

/** Another text behind each boot of the machine; null where the system does not tell its boots apart. */
export async function readBootId(): Promise<string | null> {
  try {
    return (await readFile(bootIdPath, 'utf8')).trim()
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw error
  }
}
