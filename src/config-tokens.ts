// The options of tokens, a part of the one table.

import type { OptionDefinition } from './config.types.ts'
import { kibibyte, mebibyte } from './shared/bytes.ts'

export const tokenOptions = {
  tokensMax: {
    kind: 'integer',
    unit: 'tokens',
    min: 10,
    max: 1_000_000,
    default: 100_000,
    sentence: 'Static tokens that the workspace may have.',
  },
  tokenBytesMax: {
    kind: 'integer',
    unit: 'bytes',
    min: 4 * kibibyte,
    max: 2 * mebibyte,
    default: 256 * kibibyte,
    sentence: 'Bytes of the name, the description and the scopes of one static token; each scope counts 64 more.',
  },
  tokensBytesMax: {
    kind: 'integer',
    unit: 'bytes',
    min: 64 * kibibyte,
    max: 16_384 * mebibyte,
    default: 256 * mebibyte,
    sentence:
      'The same of all static tokens together, which are held in memory; each token counts 512 more. Beyond it, tokens do not grow.',
  },
} as const satisfies Readonly<Record<string, OptionDefinition>>
