// The one place where values become SQL. Whatever comes from a parameter leaves it as a whole literal or a whole quoted
// identifier, so that no value can be read as anything but a value.

import { beginningOf } from '../shared/beginning-of.ts'
import { noValueText } from '../shared/no-value.ts'
import { templateFault } from './template-error.ts'
import { floatText, SequenceValue, SqlText, TypedNumber, textOf, typeName, type Value } from './values.ts'

/** Of the control characters only those of the table are escaped. */
const special = /[\p{Cc}"'\\%`]/gu
const escapes: ReadonlyMap<string, string> = new Map([
  ['\0', '\\0'],
  ['\r', '\\r'],
  ['\b', '\\b'],
  ['\t', '\\t'],
  ['\x1a', '\\z'],
  ['\n', '\\n'],
  ['"', '\\"'],
  ["'", "\\'"],
  ['\\', '\\\\'],
  ['%', '\\%'],
  ['`', '\\`'],
])

/** The inside of a literal. `%` is escaped too, which LIKE understands and `=` does not: so it is specified. */
export function escapeText(text: string): string {
  return text.replace(special, (character) => escapes.get(character) ?? character)
}

export function quoteText(text: string): string {
  return `'${escapeText(text)}'`
}

/** An identifier in backticks; double quotes in it vanish. */
export function quoteIdentifier(name: string): string {
  return `\`${escapeText(name.replaceAll('"', ''))}\``
}

const bareIdentifier = /^[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*$/

/** Words that a query would not take for a name, or not everywhere. */
const reservedWords: ReadonlySet<string> = new Set(
  `ALL AND ANTI ANY ARRAY AS ASC ASOF BETWEEN BY CASE CAST COLUMNS CROSS CUBE DATE DESC DISTINCT ELSE END EXCEPT EXISTS
  EXTRACT FALSE FILL FINAL FORMAT FROM FULL GLOBAL GROUP GROUPING HAVING ILIKE IN INNER INTERPOLATE INTERSECT INTERVAL
  INTO IS JOIN LEFT LIKE LIMIT NOT NULL OFFSET ON OR ORDER OUTER OUTFILE OVER PARALLEL PASTE PREWHERE QUALIFY REGEXP
  REPLACE RIGHT ROLLUP SAMPLE SELECT SEMI SETTINGS TABLE THEN TIES TIMESTAMP TO TOTALS TRUE UNION USING VALUES WHEN WHERE
  WINDOW WITH`.split(/\s+/),
)

/** An identifier without quotes where that is safe, in backticks where it is not. Dots part database and table. */
export function tableIdentifier(name: string): string {
  return bareIdentifier.test(name) && !reservedWords.has(name.toUpperCase()) ? name : quoteIdentifier(name)
}

export function isBareIdentifier(name: string): boolean {
  return bareIdentifier.test(name)
}

/** `toInt32('1')`. */
export function typedNumberSql(number: TypedNumber): string {
  return `to${number.type}('${numberText(number.value)}')`
}

export function numberText(value: bigint | number): string {
  return typeof value === 'bigint' ? value.toString() : floatText(value)
}

/**
 * What `{{ value }}` prints.
 *
 * @param source the expression, for the messages.
 * @throws TemplateFault for None and for objects.
 */
export function printedValue(value: Value, source: string): SqlText {
  if (value === null) {
    const shown = source.length > 20 ? `${beginningOf(source, 20)}...` : source
    throw templateFault(`expression "${shown}" evaluated to null`)
  }
  if (value instanceof SqlText) return value
  if (typeof value === 'string') return new SqlText(quoteText(value), value)
  if (value instanceof TypedNumber) return new SqlText(typedNumberSql(value), numberText(value.value))
  if (value instanceof SequenceValue)
    return new SqlText(value.type === 'array' ? arraySql(value) : listSql(value, source))
  if (typeof value === 'boolean' || typeof value === 'bigint' || typeof value === 'number') {
    return new SqlText(textOf(value))
  }
  if (typeName(value) === 'PlaceHolder') return new SqlText(quoteText(noValueText), noValueText)
  throw templateFault(`expression "${beginningOf(source, 20)}" evaluated to an object, which cannot be printed`)
}

/** `[1,2]`, `['a','b']`: the elements were judged by their type. */
function arraySql({ items }: SequenceValue): string {
  return `[${items.map((item) => (typeof item === 'string' ? quoteText(item) : textOf(item))).join(',')}]`
}

/** The text of a Python list, with a comma and a blank, but with quotes that ClickHouse reads. */
function listSql(list: SequenceValue, source: string): string {
  const items = list.items.map((item) => {
    if (typeof item === 'string') return listTextSql(item)
    if (item === null) return 'NULL'
    return printedValue(item, source).sql
  })
  if (list.type === 'tuple') return `(${items.join(', ')})`
  return `[${items.join(', ')}]`
}

function listTextSql(text: string): string {
  const inner = text.replace(/[\p{Cc}'\\]/gu, (character) =>
    character === "'" ? "''" : (escapes.get(character) ?? character),
  )
  return `'${inner}'`
}
