// Takes the lock of the directory that the first argument names, says so, and holds it until it is killed.
import process from 'node:process'
import { lockDirectory } from '../../../src/directory/lock.ts'
import { silentLogger } from '../store/test-store.ts'

await lockDirectory(process.argv[2] ?? '', silentLogger)
process.stdout.write('held\n')
setInterval(() => undefined, 1_000)
