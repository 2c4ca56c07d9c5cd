import { readFileSync, writeFileSync } from 'node:fs'
import { basename } from 'node:path'
import { parseArgs } from 'node:util'
import { type MemorySample, memoryColumns } from './support/memory-sample.ts'
import { textTable } from './support/report.ts'

/**
 * Makes a plot and tables of runs of `memory-over-time.js`: `memory-plot.js --svg plot.svg run.jsonl other.jsonl`.
 *
 * Above resident memory, below descriptors, over minutes, one line a file. The table of each file, a line each --every (10)
 * minutes, goes to the output.
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    svg: { type: 'string', default: 'benchmarks/results/memory-over-time.svg' },
    every: { type: 'string', default: '10' },
  },
})
const [width, height, margin] = [860, 260, 50]
const colours = ['#c0392b', '#2471a3', '#e59866', '#7fb3d5', '#555555', '#999999']

interface Run {
  readonly name: string
  readonly samples: readonly MemorySample[]
}

const runs = positionals.map(readRun)
writeFileSync(values.svg, svg())
for (const { name, samples } of runs) {
  const cells = chosen(samples).map((sample) => memoryColumns.map((column) => sample[column].toFixed(0)))
  console.log(`\n${name}\n\n${textTable(memoryColumns, cells)}`)
}

function readRun(path: string): Run {
  const lines = readFileSync(path, 'utf8').trim().split('\n').slice(1)
  // `memory-over-time.js` writes samples, and at the end one line of another kind.
  const samples = lines.map((line) => JSON.parse(line) as MemorySample).filter((sample) => 'minute' in sample)
  return { name: basename(path, '.jsonl'), samples }
}

/** The first line, one each so many minutes, and the last. */
function chosen(samples: readonly MemorySample[]): readonly MemorySample[] {
  const every = Number(values.every)
  return samples.filter(({ minute }, index) => {
    const before = samples[index - 1]
    if (before === undefined || index === samples.length - 1) return true
    return Math.floor(minute / every) > Math.floor(before.minute / every)
  })
}

function svg(): string {
  const panels = [
    panel('resident memory, MB', ({ RSS }) => RSS, 0),
    panel('descriptors', ({ descriptors }) => descriptors, height + margin),
  ]
  const legend = runs.map(({ name }, index) => {
    const at = margin + index * 190
    return `<rect x="${at}" y="6" width="12" height="12" fill="${colour(index)}"/><text x="${at + 18}" y="16">${name}</text>`
  })
  const total = 2 * (height + margin) + margin
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${total}" font-family="sans-serif" font-size="12">
<rect width="100%" height="100%" fill="white"/>
${[...legend, ...panels].join('\n')}
</svg>
`
}

function panel(title: string, value: (sample: MemorySample) => number, top: number): string {
  const all = runs.flatMap(({ samples }) => samples)
  const step = niceStep(Math.max(...all.map(value)) / 5)
  const valueMax = step * Math.ceil(Math.max(...all.map(value)) / step)
  const minuteMax = Math.max(10, ...all.map(({ minute }) => minute))
  const x = (minute: number) => (margin + (minute / minuteMax) * (width - 2 * margin)).toFixed(1)
  const y = (amount: number) => (top + margin + height - (amount / valueMax) * height).toFixed(1)
  const rows = Array.from({ length: Math.round(valueMax / step) + 1 }, (_, index) => index * step).map(
    (amount) =>
      `<line x1="${margin}" x2="${width - margin}" y1="${y(amount)}" y2="${y(amount)}" stroke="#dddddd"/><text x="${margin - 6}" y="${Number(y(amount)) + 4}" text-anchor="end">${amount}</text>`,
  )
  const ticks = Array.from({ length: Math.floor(minuteMax / 10) + 1 }, (_, index) => index * 10).map(
    (minute) => `<text x="${x(minute)}" y="${top + margin + height + 16}" text-anchor="middle">${minute}</text>`,
  )
  const lines = runs.map(({ samples }, index) => {
    const points = samples.map((one) => `${x(one.minute)},${y(value(one))}`).join(' ')
    return `<polyline fill="none" stroke="${colour(index)}" stroke-width="1.5" points="${points}"/>`
  })
  return [`<text x="${margin}" y="${top + margin - 8}">${title} over minutes</text>`, ...rows, ...ticks, ...lines].join(
    '\n',
  )
}

function colour(index: number): string {
  return colours[index % colours.length] ?? '#000000'
}

/** 1, 2 or 5 by a power of ten, at least so much. */
function niceStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, least)))
  return power * ([1, 2, 5, 10].find((factor) => factor * power >= least) ?? 10)
}
