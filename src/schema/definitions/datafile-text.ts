// A data source as the text of a `.datasource` file, from which the same data source can be made again.

import { quoteName } from '../../shared/text-escapes.ts'
import { formatColumn } from '../columns/schema-parser.ts'
import { readTextTokens } from '../syntax/text-tokens.ts'
import type { DataSourceDefinition } from './data-source-definition.types.ts'
import { textBlock } from './datafile-block.ts'
import { formatIndex } from './index-definition.ts'

const indent = '    '

/** Ends with a line feed. */
export function formatDatafile({
  description,
  columns,
  engine,
  indexes,
  declaredVersion,
}: DataSourceDefinition): string {
  const blocks = [
    ...(declaredVersion === undefined ? [] : [`VERSION ${declaredVersion}`]),
    ...(description.trim() === '' ? [] : [textBlock('DESCRIPTION', description)]),
    block('SCHEMA', separated(columns.map((column) => oneLine(formatColumn(column))))),
    engineLines(engine.name, engine.options),
    ...(indexes.length === 0
      ? []
      : [
          block(
            'INDEXES',
            indexes.map((index) => oneLine(formatIndex(index))),
          ),
        ]),
  ]
  return `${blocks.join('\n\n')}\n`
}

function block(keyword: string, lines: readonly string[]): string {
  return [`${keyword} >`, ...lines.map((line) => indent + line)].join('\n')
}

function separated(lines: readonly string[]): readonly string[] {
  return lines.map((line, index) => (index === lines.length - 1 ? line : `${line},`))
}

function engineLines(name: string, options: Readonly<Record<string, string>>): string {
  const lines = Object.entries(options).map(([option, value]) => `ENGINE_${option.toUpperCase()} ${quoted(value)}`)
  return [`ENGINE ${quoted(name)}`, ...lines].join('\n')
}

/** A value with quotes inside stands bare: a line holds one value. */
function quoted(value: string): string {
  const text = oneLine(value)
  return text.includes('"') ? text : `"${text}"`
}

/**
 * Line feeds between tokens become blanks, and those inside of quotes escapes. A comment would hide what stands behind
 * it, and goes. Names in double quotes stand in backticks, as the value itself is quoted.
 */
function oneLine(text: string): string {
  let line = ''
  let end = 0
  for (const token of readTextTokens(text)) {
    if (token.offset > end && line !== '') line += ' '
    const plain = token.text.startsWith('"') ? quoteName(token.value) : token.text
    line += plain.replaceAll('\n', '\\n')
    end = token.endOffset
  }
  return line.trim()
}
