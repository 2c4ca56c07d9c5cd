// Options of materialized views.

import type { OptionDefinition } from './config.types.ts'
import { gibibyte, kibibyte, mebibyte } from './shared/bytes.ts'

export const viewOptions = {
  views: {
    kind: 'choice',
    choices: ['isolated', 'strict'],
    default: 'isolated',
    sentence:
      'What events do when a Materialized View does not take them: go on without it, and have it catch up later, or wait until it works.',
  },
  viewsBacklogBytesMax: {
    kind: 'integer',
    unit: 'bytes',
    min: kibibyte,
    max: 1024 * gibibyte,
    default: 64 * mebibyte,
    sentence:
      'Bytes of events that stay in the log for Materialized Views that are behind, at most an eighth of `eventsLogBytesMax`. Beyond it, the view that needs the most is incomplete, and needs a populate with `truncate`.',
  },
  viewsBacklogImportBytesMax: {
    kind: 'integer',
    unit: 'bytes',
    min: kibibyte,
    max: 1024 * gibibyte,
    default: gibibyte,
    sentence:
      'Bytes of files that are kept of imports for Materialized Views that are behind. Beyond it, the view that needs the most is incomplete, and needs a populate with `truncate`.',
  },
} as const satisfies Readonly<Record<string, OptionDefinition>>
