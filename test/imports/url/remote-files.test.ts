import { createHash } from 'node:crypto'
import t from 'tap'
import type { FileIdentity } from '../../../src/imports/url/remote-file.types.ts'
import { noSignal, openTestRemoteFiles } from '../../support/imports/test-remote-files.ts'
import { answerFile, openRemoteServer, randomContent, sha256Of } from '../../support/remote-server.ts'

const content = randomContent(1_000_003, 1)
const sha256 = createHash('sha256').update(content).digest('hex')

for (const isParallel of [true, false]) {
  t.test(`a file is read exactly, ${isParallel ? 'in parallel' : 'in order'}`, async (t) => {
    const server = await openRemoteServer(t, answerFile({ content }))
    const files = openTestRemoteFiles(t)
    const file = await files.open(`${server.origin}/orders.csv?secret=1`, { signal: noSignal })
    t.match(file, { fileName: 'orders.csv', acceptsRanges: true, contentEncoding: undefined })
    t.same(file.identity, { etag: '"one"', lastModified: null, byteCount: content.length } satisfies FileIdentity)
    t.equal(await sha256Of(file.read({ offset: 0, isParallel })), sha256)
    t.equal(file.receivedBytes, content.length)
    await file.close()
  })
}
