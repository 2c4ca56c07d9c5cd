import { otherLabel } from './bounded-counts.ts'
import { type Family, family, type Sample } from './family.ts'
import type { ViewBehindState, ViewsState } from './service-state.types.ts'

/** Materialized Views that lack blocks, and what is kept for them. */
export function viewFamilies({ behind, backlogs }: ViewsState, labelsMax: number): readonly Family[] {
  const ofEach = samplesOf(behind, labelsMax)
  const incompleteCount = behind.filter(({ isIncomplete }) => isIncomplete).length
  return [
    family(
      'millrace_views_behind',
      'Materialized Views that lack blocks, by state: a parked one catches up, an incomplete one must be filled anew.',
      [
        { labels: { state: 'parked' }, value: behind.length - incompleteCount },
        { labels: { state: 'incomplete' }, value: incompleteCount },
      ],
    ),
    family(
      'millrace_view_incomplete',
      'Whether a Materialized View that lacks blocks lacks some that nobody keeps, by pipe and node: 1 or 0.',
      ofEach(({ isIncomplete }) => (isIncomplete ? 1 : 0)),
    ),
    family(
      'millrace_view_backlog_blocks',
      'Blocks that are kept for a Materialized View that is parked, by pipe and node.',
      ofEach(({ blockCount }) => blockCount),
    ),
    family(
      'millrace_view_backlog_bytes',
      'The same in bytes: of events in the log, and of imports on disk.',
      ofEach(({ byteCount }) => byteCount),
    ),
    family(
      'millrace_views_backlog_bytes',
      'Bytes that are kept for all Materialized Views that are parked: of events in the log, and of imports on disk.',
      backlogs.map(({ of, bytes: value }) => ({ labels: { of }, value })),
    ),
    family(
      'millrace_views_backlog_limit_bytes',
      'Bytes that may be kept for them; beyond these the view that needs the most is incomplete.',
      backlogs.map(({ of, bytesMax: value }) => ({ labels: { of }, value })),
    ),
  ]
}

/** Those that are incomplete, and then those that need the most, are told apart: they are what somebody looks for. */
function samplesOf(
  behind: readonly ViewBehindState[],
  labelsMax: number,
): (count: (view: ViewBehindState) => number) => readonly Sample[] {
  const sorted = behind.toSorted((one, other) => {
    return Number(other.isIncomplete) - Number(one.isIncomplete) || other.byteCount - one.byteCount
  })
  const others = sorted.slice(labelsMax)
  return (count) => {
    const own = sorted.slice(0, labelsMax).map((view): Sample => {
      return { labels: { pipe: view.pipe, node: view.node }, value: count(view) }
    })
    if (others.length === 0) return own
    const value = others.reduce((total, view) => total + count(view), 0)
    return [...own, { labels: { pipe: otherLabel, node: otherLabel }, value }]
  }
}
