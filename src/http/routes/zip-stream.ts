/** Texts as a zip archive that is written while it is sent: one text is packed at a time. */
import { Zip, ZipDeflate } from 'fflate'
import { giveWay } from '../../shared/time-slices.ts'

export interface ArchivedText {
  /** With slashes between the folders. */
  readonly path: string
  readonly text: string
  /** Epoch milliseconds. */
  readonly changedAt: number
}

/** The years that an archive can tell, by local time. */
const firstTime = new Date(1980, 0, 2).getTime()
const lastTime = new Date(2099, 11, 30).getTime()

/** The bytes of the archive, a text at a time. `texts` is asked for the next one when the bytes of the last were taken. */
export async function* zipStream(texts: Iterable<ArchivedText>): AsyncGenerator<Uint8Array> {
  const chunks: Uint8Array[] = []
  const take = (): Uint8Array => Buffer.concat(chunks.splice(0))
  const zip = new Zip((error, chunk) => {
    // It is called within the calls below, which then throw.
    if (error !== null) throw error
    chunks.push(chunk)
  })
  for (const { path, text, changedAt } of texts) {
    const file = new ZipDeflate(path)
    file.mtime = Math.min(Math.max(changedAt, firstTime), lastTime)
    zip.add(file)
    file.push(Buffer.from(text), true)
    yield take()
    await giveWay()
  }
  zip.end()
  yield take()
}
