// The borders of blocks in an answer, told to a reader whose rows are filtered.
//
// The engine cuts an answer as it reads the tables, some tens of thousands of rows at a time, hidden ones among them, and some
// formats show where: so a reader would learn how many hidden rows lie between two of its own. Its answers are cut anew, by
// the number of their own rows alone.

import type { Run } from './run.types.ts'

const blockFormats: ReadonlySet<string> = new Set(['Arrow', 'ArrowStream', 'Native'])

/** No less than the engine reads at once: a single block is left as it was read. */
const blockRows = 65_536
/** Longer than any query runs. The engine prints blocks together that follow each other within this time. */
const prettyWaitMs = 3_600_000

/** The same run, whose answer tells nothing of the blocks that were read. */
export function inOwnBlocks(run: Run): Run {
  if (run.format.startsWith('Pretty')) {
    const waiting = {
      output_format_pretty_squash_consecutive_ms: prettyWaitMs,
      output_format_pretty_squash_max_wait_ms: prettyWaitMs,
    }
    return { ...run, settings: { ...run.settings, ...waiting } }
  }
  if (!blockFormats.has(run.format)) return run
  // What holds for the query itself, whose blocks may have to be small, does not hold for sorting its rows.
  const rowsMax = run.plan.settings['max_block_size']
  const inner = rowsMax === undefined ? '' : ` SETTINGS max_block_size = ${rowsMax}`
  return {
    ...run,
    prefix: 'SELECT * FROM (SELECT * FROM (',
    // Sorting keeps the order and makes whole blocks. The number of a row keeps the order of the query from being dropped.
    suffix: `)${inner}) ORDER BY rowNumberInAllBlocks()`,
    settings: { ...run.settings, max_block_size: blockRows, query_plan_remove_redundant_sorting: 0 },
  }
}
