// What would become of a node that is to fill a data source, as the official client reads it: the files of both, and warnings.

import type { AnalysedNode } from '../../pipes/pipes.types.ts'
import { givenEngineText } from '../../schema/definitions/table-definition.ts'
import { triggerFields, warningShape } from './pipe-shape.ts'

interface Analysed {
  /** Of the data source, as it was asked for. */
  readonly name: string
  readonly targetName: (id: string) => string | undefined
  /** Of the pipe as it is. */
  readonly datafile: string
}

export function analysisShape({ node, analysis }: AnalysedNode, { name, targetName, datafile }: Analysed): object {
  const { existing, columns, warnings, sourceIds } = analysis
  const triggers = triggerFields(sourceIds, targetName)
  const engine = existing?.engine ?? analysis.engine
  const own = columns.map((column) => `    \`${column.name}\` ${column.typeText}`).join(',\n')
  const options = Object.entries(engine.options).map(([option, value]) => `ENGINE_${option.toUpperCase()} "${value}"`)
  const engineLines = [`ENGINE "${engine.name}"`, ...options].join('\n')
  return {
    analysis: {
      datasource: {
        name: existing?.name ?? name,
        created: existing === undefined,
        columns: columns.map(({ name: column, typeText: type }) => ({ name: column, type })),
        engine: { engine: engine.name, engine_full: givenEngineText(engine), ...engine.options },
        datafile: `SCHEMA >\n${own}\n\n${engineLines}\n`,
      },
      pipe: { datafile: withType(datafile, { node: node.name, target: existing?.name ?? name }) },
      sql: node.sql,
      trigger_datasource: null,
      ...triggers,
    },
    warnings: warnings.map(warningShape),
  }
}

/** What a node is by now. Lines of SQL are indented. */
const kindLines = /^TYPE .*\n(?:(?:DATASOURCE|ENGINE\w*) .*\n)*/gm

/** The file of the pipe with the node as it would be. */
function withType(datafile: string, { node, target }: { readonly node: string; readonly target: string }): string {
  const blocks = datafile.split(/\n(?=NODE )/)
  const typed = blocks.map((block) => {
    return block.startsWith(`NODE ${node}\n`)
      ? `${block.replace(kindLines, '').trimEnd()}\n\nTYPE materialized\nDATASOURCE ${target}\n`
      : block
  })
  return typed.join('\n')
}
