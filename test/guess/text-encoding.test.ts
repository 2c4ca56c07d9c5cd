import t from 'tap'
import { createTranscoder, encodingByMark, guessEncoding, withLineFeeds } from '../../src/guess/text-encoding.ts'

const latin = (text: string): Buffer =>
  Buffer.from(
    Array.from(text, (character) => {
      const byte = { '“': 0x93, '”': 0x94, '„': 0x84, '’': 0x92, '…': 0x85, '–': 0x96 }[character]
      return byte ?? character.charCodeAt(0)
    }),
  )
const encodingOf = (bytes: Uint8Array): string => guessEncoding(bytes, { isWhole: true }).encoding

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
  for (const [bytes, encoding] of cases) t.equal(encodingOf(bytes), encoding, bytes.toString('hex'))
  t.equal(encodingByMark(Buffer.from('Zürich', 'latin1')), 'utf-8', 'a mark says nothing of Latin-1')
})

t.test('Latin-1 is told by the weight of its letters, not by pairs that are UTF-8 by chance', async (t) => {
  for (const text of [
    `${'café\n'.repeat(1000)}«CAFÉ»\n`,
    '«CAFÉ»\n',
    '«CAFÉ»\n'.repeat(1000),
    '«\u00a0Vérité\u00a0»\n'.repeat(20),
    'à …\n« là… »\n«\u00a0là…»\n',
    '„Spaß“\n„Fluß“\n„Gruß“\n',
    '„MÜ“ „Ö” ß– Ä…\n',
    'caf\u00e9',
  ]) {
    t.equal(encodingOf(latin(text)), 'windows-1252', text.slice(-20))
  }
})

t.test('UTF-8 with broken bytes among its characters stays UTF-8, in whatever script', async (t) => {
  for (const text of [
    'été à ë\n',
    'zażółć gęślą\n',
    'Ελλάδα\n',
    'Привет\n',
    'Հայաստան\n',
    'שלום\n',
    'مرحبا\n',
    '漢字 頻\n',
    'e\u0301\n',
  ]) {
    const bytes = Buffer.concat([Buffer.from(text), Buffer.from([0xe9, 0x0a]), Buffer.from(text)])
    t.equal(encodingOf(bytes), 'utf-8', text)
  }
  const halves = Buffer.concat([Buffer.from('é\n'.repeat(100)), Buffer.from('é\n'.repeat(300), 'latin1')])
  t.equal(encodingOf(halves), 'utf-8', 'where both are in it nothing is read wrongly')
})

t.test('a sample of UTF-8 may end within a character', async (t) => {
  const bytes = Buffer.from('aé€😀é')
  for (let end = 0; end <= bytes.length; end += 1)
    t.equal(guessEncoding(bytes.subarray(0, end), { isWhole: false }).encoding, 'utf-8', `cut at ${end}`)
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
