import { quoteRandomly } from './random-texts.ts'
import type { TestRandom } from './test-random.ts'

/** A value to be written: a text, which JSON puts into quotes, or JSON as it stands. */
export interface Spelling {
  readonly text: string
  readonly isText: boolean
}

export function asText(text: string): Spelling {
  return { text, isText: true }
}

export function asJson(text: string): Spelling {
  return { text, isText: false }
}

export function jsonOf(random: TestRandom, spelling: Spelling): string {
  return spelling.isText ? quoteRandomly(random, spelling.text) : spelling.text
}
