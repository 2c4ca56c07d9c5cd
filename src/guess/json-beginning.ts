/** What JSON a body begins with, where nobody said its format. */
import { encodingByMark } from './text-encoding.ts'

/**
 * `lines`: the first record is a JSON object. `array`: an array of objects, or of nothing. What is JSON and no table:
 * `document`, one object over several lines; `commas`, objects with a comma behind each line; `lists`, arrays without names.
 */
export type JsonBeginning = 'array' | 'commas' | 'document' | 'lines' | 'lists'

/** Null for what may be CSV: a number, a text and `true` are JSON too, and so may the first cell of a row be. */
export function jsonBeginning(head: Uint8Array, isWhole: boolean): JsonBeginning | null {
  // With its mark, of which nothing is left.
  const text = new TextDecoder(encodingByMark(head)).decode(head).trimStart()
  if (/^\[\s*\{\s*["}]/.test(text) || (isWhole && /^\[\s*\]\s*$/.test(text))) return 'array'
  if (isLists(text, isWhole)) return 'lists'
  if (!/^\{\s*["'}]/.test(text)) return null
  const end = text.indexOf('\n')
  // A record that is longer than what is looked at.
  if (end < 0 && !isWhole) return text[1] === "'" ? null : 'lines'
  if (isObject(end < 0 ? text : text.slice(0, end))) return 'lines'
  const isSpread = /^\{[ \t\r]*\n\s*(?:"(?:[^"\\]|\\.)*"\s*:|\})/.test(text)
  if (isSpread || (isWhole && isObject(text))) return 'document'
  if (hasCommas(text, isWhole)) return 'commas'
  if (hasObjectsBelow(text, isWhole)) return 'lines'
  return end >= 0 && isOpen(text.slice(0, end)) ? 'document' : null
}

/** Lines below the first one that are looked at. */
const linesBelowMax = 20

/**
 * Whether the first line is a broken one of NDJSON. A row of CSV may begin like an object too, and then those below it are no
 * objects: most of them must be.
 */
function hasObjectsBelow(text: string, isWhole: boolean): boolean {
  const [, ...below] = firstLines(text, isWhole)
  return below.filter(isObject).length * 2 > below.length
}

/** The first lines that are whole, without blank ones. */
function firstLines(text: string, isWhole: boolean): readonly string[] {
  const lines = text.split('\n', linesBelowMax + 2)
  // What the beginning cuts says nothing.
  const whole = isWhole || lines.length > linesBelowMax + 1 ? lines : lines.slice(0, -1)
  return whole.slice(0, linesBelowMax + 1).filter((line, index) => index === 0 || line.trim() !== '')
}

const commaAtEnd = /,\s*$/

/** Objects one a line as they stand in an array, of which the brackets are gone; the last may be without its comma. */
function hasCommas(text: string, isWhole: boolean): boolean {
  const lines = firstLines(text, isWhole)
  const [first = '', ...below] = lines
  const others = below.slice(0, -1)
  if (!commaAtEnd.test(first) || !others.every((line) => commaAtEnd.test(line))) return false
  return lines.every((line) => isObject(line.replace(commaAtEnd, '')))
}

/** An array of arrays, or two and more of them, one a line: rows that name no columns. */
function isLists(text: string, isWhole: boolean): boolean {
  if (!text.startsWith('[')) return false
  if (/^\[\s*\[\s*(?:["\d[\]tfn{-])/.test(text)) return true
  const lines = firstLines(text, isWhole)
  return lines.length > 1 && lines.every((line) => Array.isArray(parsed(line)))
}

const lastOfOpenLine = /[,:[{]\s*$/

/** Whether a line begins an object that goes on behind it: brackets are open, and no text, where a value or a name has to follow. */
function isOpen(line: string): boolean {
  if (!lastOfOpenLine.test(line)) return false
  const marks = line.replace(/"(?:[^"\\]|\\.)*"/g, '""')
  if (/"[^"]*$/.test(marks.replaceAll('""', ''))) return false
  const open: string[] = []
  for (const mark of marks) {
    if (mark === '{' || mark === '[') open.push(mark)
    else if (mark === '}' || mark === ']') {
      if (open.pop() !== (mark === '}' ? '{' : '[')) return false
      if (open.length === 0) return false
    }
  }
  return open.length > 0 && /^\s*\{\s*"" *:/.test(marks)
}

function isObject(text: string): boolean {
  const value = parsed(text)
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Undefined for what is no JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
