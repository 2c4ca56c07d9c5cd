import type { TimeHistogram } from './time-histogram.ts'

type Labels = Readonly<Record<string, string>>

/** One line of the answer: the name of its family, with `suffix` behind it, its labels, and the value. */
export interface Sample {
  readonly suffix?: string
  readonly labels: Labels
  readonly value: number
}

/** A metric with all of its series, as they are now. */
export interface Family {
  /** With the unit last, and `_total` behind it for a counter. */
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly samples: readonly Sample[]
}

/** A family of one series. */
export function single(name: string, help: string, value: number): Family {
  return family(name, help, [{ labels: {}, value }])
}

/** A counter where the name says so, else a gauge. */
export function family(name: string, help: string, samples: readonly Sample[]): Family {
  return { name, help, type: name.endsWith('_total') ? 'counter' : 'gauge', samples }
}

/** A family of durations in seconds, one histogram for each of the labels. */
export function histograms(
  name: string,
  help: string,
  series: Iterable<{ readonly labels: Labels; readonly times: TimeHistogram }>,
): Family {
  const samples: Sample[] = []
  for (const { labels, times } of series) samples.push(...histogramSamples(labels, times))
  return { name, help, type: 'histogram', samples }
}

function histogramSamples(labels: Labels, { boundsMs, counts, sumMs }: TimeHistogram): readonly Sample[] {
  const samples: Sample[] = []
  let total = 0
  for (const [at, count] of counts.entries()) {
    total += count
    const boundMs = boundsMs[at]
    const le = boundMs === undefined ? '+Inf' : String(boundMs / 1000)
    samples.push({ suffix: '_bucket', labels: { ...labels, le }, value: total })
  }
  return [...samples, { suffix: '_sum', labels, value: sumMs / 1000 }, { suffix: '_count', labels, value: total }]
}
