import t from 'tap'
import { createTranscoder, encodingByMark, guessEncoding, withLineFeeds } from '../../src/guess/text-encoding.ts'

t.test('the encoding is told by marks, else by whether the bytes are UTF-8', async (t) => {
  const cases = [
    [Buffer.from('plain'), 'utf-8'],
    [Buffer.from(''), 'utf-8'],
    [Buffer.from('ü€😀'), 'utf-8'],
    [Buffer.from('\ufeffa', 'utf16le'), 'utf-16le'],
    [Buffer.from('\ufeffa', 'utf16le').swap16(), 'utf-16be'],
    [Buffer.from('Zürich', 'latin1'), 'windows-1252'],
    [Buffer.from([0x61, 0x80, 0x62]), 'windows-1252'],
    [Buffer.concat([Buffer.from('é'), Buffer.from([0xff]), Buffer.from('é')]), 'utf-8'],
  ] as const
  for (const [bytes, encoding] of cases) t.equal(guessEncoding(bytes), encoding, bytes.toString('hex'))
  t.equal(encodingByMark(Buffer.from('Zürich', 'latin1')), 'utf-8', 'a mark says nothing of Latin-1')
})

t.test('a sample of UTF-8 may end within a character', async (t) => {
  const bytes = Buffer.from('aé€😀é')
  for (let end = 0; end <= bytes.length; end += 1)
    t.equal(guessEncoding(bytes.subarray(0, end)), 'utf-8', `cut at ${end}`)
})

t.test('a body gives the same text wherever the network cuts it', async (t) => {
  const text = '\ufeffaé€😀\n'
  const bodies = {
    'utf-16le': Buffer.from(text, 'utf16le'),
    'utf-16be': Buffer.from(text, 'utf16le').swap16(),
  } as const
  for (const encoding of ['utf-16le', 'utf-16be'] as const) {
    const body = bodies[encoding]
    for (let cut = 0; cut <= body.length; cut += 1) {
      const transcoder = createTranscoder(encoding)
      const pieces = [transcoder?.push(body.subarray(0, cut)), transcoder?.push(body.subarray(cut)), transcoder?.end()]
      t.equal(Buffer.concat(pieces.map((piece) => piece ?? Buffer.from('none'))).toString(), 'aé€😀\n', `${cut}`)
    }
  }
  t.equal(createTranscoder('utf-8'), null)
})

t.test('all bytes of windows-1252 become the characters that browsers read', async (t) => {
  const bytes = Uint8Array.from({ length: 256 }, (_, byte) => byte)
  const text = Buffer.from(createTranscoder('windows-1252')?.push(bytes) ?? []).toString()
  t.equal(text.length, 256)
  t.equal(text.slice(0x80, 0xa0), '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ')
  t.equal(text.slice(0, 0x80), Buffer.from(bytes.subarray(0, 0x80)).toString())
  t.equal(text.slice(0xa0), Buffer.from(bytes.subarray(0xa0)).toString('latin1'))
})

t.test('carriage returns become line feeds in a copy', async (t) => {
  const bytes = Buffer.from('a\rb\r')
  t.equal(Buffer.from(withLineFeeds(bytes)).toString(), 'a\nb\n')
  t.equal(bytes.toString(), 'a\rb\r')
})
