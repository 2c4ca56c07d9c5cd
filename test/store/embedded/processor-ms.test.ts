import process from 'node:process'
import t from 'tap'
import { processorMs } from '../../../src/store/embedded/processor-ms.ts'

t.test('it is what the process has used, to a few hundredths of a second, and null for one that is not there', async (t) => {
  const before = processorMs(process.pid)
  if (before === null) return t.skip('the system does not tell')
  const startedUs = process.cpuUsage()
  let usedMs = 0
  while (usedMs < 200) {
    const { user, system } = process.cpuUsage(startedUs)
    usedMs = (user + system) / 1_000
  }
  const grownMs = (processorMs(process.pid) ?? 0) - before
  t.ok(grownMs >= 150 && grownMs <= process.cpuUsage(startedUs).user / 1_000 + process.cpuUsage(startedUs).system / 1_000 + 50, `${grownMs} ms`)
  // Above what Linux gives.
  t.equal(processorMs(2 ** 30), null)
})
