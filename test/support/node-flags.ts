import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from '../../src/shared/assert.ts'

/** What the start script of a checkout gives Node. */
export function nodeFlags(root: string): readonly string[] {
  const found = /^exec node((?: --\S+)+) /m.exec(readFileSync(join(root, 'bin', 'millrace'), 'utf8'))
  assert(found !== null, 'the start script gives Node flags')
  const [, flags = ''] = found
  return flags.trim().split(' ')
}
