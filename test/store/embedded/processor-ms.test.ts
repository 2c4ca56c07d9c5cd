import process from 'node:process'
import t from 'tap'
import { processorMs } from '../../../src/store/embedded/processor-ms.ts'

/** As the process knows it by itself. */
function usedMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

t.test('it is what a process has used, to some hundredths of a second', async (t) => {
  const untilMs = usedMs() + 200
  while (usedMs() < untilMs);
  const before = usedMs()
  const told = processorMs(process.pid) ?? Number.NaN
  t.ok(told >= before - 30 && told <= usedMs() + 30, `${before}, ${told}, ${usedMs()} ms`)
})

t.test('nothing is told of a process that is not there', async (t) => {
  // Above what Linux gives.
  t.equal(processorMs(2 ** 30), null)
})
