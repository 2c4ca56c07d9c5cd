// Reads the text of `/metrics` as strictly as its format is defined.

export interface Exposition {
  /** By the name with its labels, as the line has it. */
  readonly values: ReadonlyMap<string, number>
  readonly types: ReadonlyMap<string, string>
}

const sampleLine = /^([a-z_]\w*)(\{(?:[a-z_]\w*="(?:[^"\\\n]|\\[\\n"])*",?)*\})? (-?[\d.e+-]+|NaN|[+-]Inf)$/i

/** Raises an error for a line that the format does not have, and for a sample whose family was not declared before it. */
export function parseExposition(text: string): Exposition {
  const values = new Map<string, number>()
  const types = new Map<string, string>()
  for (const line of text.split('\n')) {
    const declared = /^# TYPE (\w+) (counter|gauge|histogram|summary)$/.exec(line)
    if (declared !== null) {
      const [, name = '', type = ''] = declared
      if (types.has(name)) throw new Error(`${name} is declared twice`)
      types.set(name, type)
    }
    if (line === '' || line.startsWith('#')) continue
    const sample = sampleLine.exec(line)
    if (sample === null) throw new Error(`no sample: ${line}`)
    const [, name = '', labels = '', value = ''] = sample
    const family = name.replace(/_(?:bucket|sum|count)$/, '')
    if (!types.has(name) && types.get(family) !== 'histogram') throw new Error(`not declared: ${line}`)
    if (values.has(name + labels)) throw new Error(`told twice: ${line}`)
    values.set(name + labels, Number(value.replace('Inf', 'Infinity')))
  }
  return { values, types }
}
