/** Whether cells of a first record are values like those below them, or a row of years or days that names its columns. */
import type { SampleCell, SampleRecord } from './csv-sample.ts'

type Column = readonly (SampleCell | undefined)[]

/** Cells below that are looked at; a wide first record is compared in each field. */
const belowMax = 20
/** Of a longer text the beginning tells. */
const shapeCharsMax = 8
const shapedCharsMax = 200
const uuidForm = /\b[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\b/gi
const hashForm = /\b(?=[a-f]*\d)[\da-f]{16,}\b/gi

/** A text with each number, word, UUID and hash as one character. */
function shapeOf(text: string): string {
  return text
    .trim()
    .slice(0, shapedCharsMax)
    .replace(uuidForm, '§')
    .replace(hashForm, '¶')
    .replace(/\d+/g, '9')
    .replace(/\p{L}+/gu, 'a')
}

/** Numbers at two places, as addresses, times and codes have them: names have one at most, mostly. */
const valueForm = /[§¶]|9.*9/s
const jsonForm = /^[[{]/

/**
 * Whether a text is a value by its look, `10.0.0.1` or `ORD-2024-17`, and most of those below look the same.
 *
 * @param below texts, of which the type tells nothing.
 */
export function looksLikeThoseBelow(text: string, below: Column): boolean {
  const shape = shapeOf(text)
  if (!valueForm.test(shape) && !jsonForm.test(shape)) return false
  const start = shape.slice(0, shapeCharsMax)
  const cells = below.slice(0, belowMax)
  const texts = cells.flatMap((cell) => (cell === undefined || cell.text.trim() === '' ? [] : [cell.text]))
  const alike = texts.filter((one) => isAlike(start, shapeOf(one)))
  return alike.length > 0 && alike.length * 2 >= texts.length
}

function isAlike(start: string, shape: string): boolean {
  return jsonForm.test(start) ? shape.startsWith(start.charAt(0)) : shape.slice(0, shapeCharsMax) === start
}

interface SerialKind {
  readonly form: RegExp
  /** What has to grow, or to shrink, from field to field. */
  readonly valueOf: (text: string) => number
  /** Whether it has to do so by the same step. */
  readonly isEven: boolean
}

const serialKinds: readonly SerialKind[] = [
  { form: /^(?:1[89]|20|21)\d\d$/, valueOf: Number, isEven: true },
  { form: /^\d{4}-(?:0[1-9]|1[0-2])$/, valueOf: (text) => Date.parse(`${text}-01`), isEven: false },
  { form: /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$/, valueOf: (text) => Date.parse(text), isEven: false },
]

/**
 * The fields of a first record that name a year, a month or a day of their column: two or more side by side, one after the
 * other in time, above columns that hold something else.
 */
export function serialNames(first: SampleRecord, below: readonly Column[]): ReadonlySet<number> {
  return new Set(serialKinds.flatMap((kind) => serialRuns(first, below, kind).flat()))
}

function serialRuns(first: SampleRecord, below: readonly Column[], kind: SerialKind): readonly (readonly number[])[] {
  const runs: number[][] = []
  for (const [field, { text }] of first.entries()) {
    if (!kind.form.test(text.trim()) || !isOther(below[field] ?? [], kind)) continue
    const run = runs.at(-1)
    if (run !== undefined && goesOn(run, field, first, kind)) run.push(field)
    else runs.push([field])
  }
  return runs.filter((run) => run.length > 1)
}

/** Whether a column has values, and none of them is of that kind. */
function isOther(column: Column, { form }: SerialKind): boolean {
  const texts = column.flatMap((cell) => (cell === undefined || cell.text.trim() === '' ? [] : [cell.text.trim()]))
  return texts.length > 0 && !texts.some((text) => form.test(text))
}

function goesOn(run: readonly number[], field: number, first: SampleRecord, kind: SerialKind): boolean {
  const [last, before] = [run.at(-1), run.at(-2)]
  if (last !== field - 1) return false
  const valueAt = (at: number): number => kind.valueOf(first[at]?.text.trim() ?? '')
  const step = valueAt(field) - valueAt(last)
  if (before === undefined) return step !== 0
  const stepBefore = valueAt(last) - valueAt(before)
  return kind.isEven ? step === stepBefore : step * stepBefore > 0
}
