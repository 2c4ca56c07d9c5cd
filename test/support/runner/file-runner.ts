// A process of `file-process.ts`: runs the test files that it is sent, one after another, each as a test that bears the file's
// name. What files share is loaded and compiled once: for a small file that is most of its processor time.
//
// A test file speaks to tap's root test. While a file runs, the root hands on what the file asks of it to the file's own test:
// the tests of a file end, and its teardowns run, before the next file begins.

import { resolve } from 'node:path'
import process from 'node:process'
import { pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'

/** What a test file may ask of the root. It takes the root itself, `import t from 'tap'`: tests of tap's other exports would not be its own. */
const handedOn = ['comment', 'equal', 'setTimeout', 'teardown', 'test'] as const

let hear: (file: string) => void = () => undefined
process.on('message', (file: string) => hear(file))
// The root ends when nothing is queued, which is so while a file is asked for: files run inside one test.
await t.test('files', async (files) => {
  const runFile = files.test.bind(files)
  for (let file = await nextFile(); file !== 'end'; file = await nextFile()) {
    const url = pathToFileURL(resolve(file)).href
    await runFile(file, async (test) => {
      handOnTo(test)
      await import(url)
    })
  }
})
process.disconnect()

function nextFile(): Promise<string> {
  return new Promise((resolveFile) => {
    hear = resolveFile
    // tap lets the channel keep no process alive.
    process.channel?.ref()
    process.send?.('next')
  })
}

function handOnTo(test: Test): void {
  for (const name of handedOn) Object.defineProperty(t, name, { value: test[name].bind(test), configurable: true })
}
