import { environmentName, flagName, type OptionKey, optionKeys, optionTable } from './config.ts'
import type { OptionDefinition } from './config.types.ts'
import { formatBytes } from './shared/bytes.ts'

const usage = `Millrace: an analytics data service over a real ClickHouse.

Usage: millrace [options]

A flag goes before its environment variable, and that before the default. Sizes may be written as 64MiB or 10MB.
`

/** What `--help` prints. */
export function helpText(): string {
  const blocks = optionKeys.map((key) => {
    const { sentence, kind } = definitionOf(key)
    const flag = kind === 'switch' ? `--${flagName(key)}` : `--${flagName(key)} <${valueText(key)}>`
    return `  ${flag}   ${environmentName(key)}\n      ${sentence}\n      Default: ${defaultText(key)}\n`
  })
  return [usage, ...blocks, '  --help      Prints this.\n', '  --version   Prints the version.\n'].join('\n')
}

/** The table of options as Markdown, for docs/options.md. */
export function optionsMarkdown(): string {
  const rows = optionKeys.map(
    (key) =>
      `| <a id="${flagName(key)}"></a>\`--${flagName(key)}\` | \`${environmentName(key)}\` | ${valueText(key)} | ${defaultText(key)} | ${definitionOf(key).sentence} |`,
  )
  return ['| Flag | Environment | Value | Default | What it is |', '|---|---|---|---|---|', ...rows].join('\n')
}

function definitionOf(key: OptionKey): OptionDefinition {
  return optionTable[key]
}

function valueText(key: OptionKey): string {
  const definition = definitionOf(key)
  switch (definition.kind) {
    case 'integer':
      return definition.unit ?? 'number'
    case 'choice':
      return definition.choices.join(', ')
    case 'text':
    case 'secret':
      return 'text'
    case 'switch':
      return 'true, false'
  }
}

function defaultText(key: OptionKey): string {
  const definition = definitionOf(key)
  switch (definition.kind) {
    case 'integer':
      if (typeof definition.default !== 'number') return definition.default.text
      return definition.unit === 'bytes' ? formatBytes(definition.default) : String(definition.default)
    case 'choice':
    case 'text':
      return definition.default
    case 'secret':
      return definition.defaultText
    case 'switch':
      return 'false'
  }
}
