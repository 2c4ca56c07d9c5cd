// An entry of the log as people read it on a terminal.

/** A line of JSON as `12:00:00.000 warn  Message. name=value`, with the stack of an error on lines of its own. */
export function toLogText(line: string): string {
  const entry = parseEntry(line)
  if (entry === null) return line
  const { level, time, msg, err, ...fields } = entry
  const clock = String(time).slice(11, 23)
  const words = Object.entries(fields).map(([name, value]) => `${name}=${valueText(value)}`)
  const head = [clock, String(level).padEnd(5), printable(String(msg)), ...words].join(' ')
  return `${[head, ...errorLines(err)].join('\n')}\n`
}

function parseEntry(line: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(line)
    // An object has fields of unknown kinds, which is all that is asked of it.
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null
  } catch {
    return null
  }
}

/** A plain word as it is; anything else as JSON, so that its end can be seen. */
function valueText(value: unknown): string {
  if (typeof value === 'string' && /^[\w./:@+-]+$/.test(value)) return value
  return printable(JSON.stringify(value))
}

/** What a terminal would take for a command is written as an escape. */
function printable(text: string): string {
  return text.replace(controls, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
const controls = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g
const stackLinesMax = 30

function errorLines(err: unknown): readonly string[] {
  if (typeof err !== 'object' || err === null) return err === undefined ? [] : [`    ${valueText(err)}`]
  const stack = 'stack' in err && typeof err.stack === 'string' ? err.stack : JSON.stringify(err)
  return stack
    .split('\n')
    .slice(0, stackLinesMax)
    .map((line) => `    ${printable(line.trim())}`)
}
