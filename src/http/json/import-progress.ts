import { Readable } from 'node:stream'
import type { BlockReportEntry, BlockStatusEntry, Progress } from '../../imports/imports.types.ts'

/** The lines of `progress=true`, which the import result ends. */
export interface ProgressLines {
  readonly lines: Readable
  end(result: object): void
}

/** What was noted so far, and from now on each status as it comes. */
export function progressLines(progress: Progress): ProgressLines {
  const lines = new Readable({ read() {} })
  const push = (value: object): void => void lines.push(`${JSON.stringify(value)}\n`)
  for (const entry of progress.statuses) push(statusShape(entry))
  progress.listen((entry) => push(statusShape(entry)))
  return {
    lines,
    end(result) {
      push(result)
      lines.push(null)
    },
  }
}

/** The fields of the import result that `debug` asks for. */
export function progressDetails(progress: Progress, debug: ReadonlySet<string>): Readonly<Record<string, unknown>> {
  return {
    ...(debug.has('blocks') ? { blocks: progress.reports.map(reportShape) } : {}),
    ...(debug.has('block_log') ? { block_log: progress.statuses.map(statusShape) } : {}),
    // There are no hooks that an import could run.
    ...(debug.has('hook_log') ? { hook_log: [] } : {}),
  }
}

function statusShape({ blockId, status, atMs }: BlockStatusEntry) {
  return { block_id: blockId, status, timestamp: atMs / 1000 }
}

function reportShape({ blockId, report }: BlockReportEntry) {
  const seconds = report.timeMs / 1000
  return {
    block_id: blockId,
    process_return: [
      {
        lines: report.lines,
        parser: report.parser,
        quarantine: report.quarantinedRows,
        time: seconds,
        invalid_lines: report.invalidLines,
        empty_lines: report.emptyLines,
        bytes: report.byteCount,
      },
    ],
    processing_time: seconds,
    processing_error: null,
    processing_error_type: null,
  }
}
