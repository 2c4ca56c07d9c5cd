import t from 'tap'
import { createLogger } from '../src/observe/logger.ts'
import { checkOpenFiles } from '../src/open-files.ts'
import { StartRefusal } from '../src/shared/errors/start-refusals.ts'

/** The limits that the log names when so many files may be open. */
function warnedOf(limit?: number): readonly unknown[] {
  const logger = createLogger({ level: 'silent' })
  const limits: unknown[] = []
  logger.warn = (fields: { readonly limit?: unknown }) => {
    limits.push(fields.limit)
  }
  checkOpenFiles(logger, limit)
  return limits
}

t.test('a start needs 512 open files, and is warned below 8,192', async (t) => {
  for (const limit of [0, 256, 511]) t.throws(() => warnedOf(limit), StartRefusal, String(limit))
  t.throws(() => warnedOf(511), { code: 'OPEN_FILES_TOO_FEW', message: /open 511 files, and at least 512 .*ulimit -n/ })
  for (const limit of [512, 513, 1_024, 4_096, 8_191]) t.same(warnedOf(limit), [limit], String(limit))
  for (const limit of [8_192, 8_193, 1_048_576, Number.POSITIVE_INFINITY]) t.same(warnedOf(limit), [], String(limit))
})

t.test('without a number the limit of this process holds', async (t) => {
  t.doesNotThrow(() => warnedOf())
})
