import type { Analysis } from '../../imports/imports.types.ts'

/** The dry-run analysis of the specification: what would be created for the rows. */
export function dryRunShape({ guess, dialect }: Analysis): object {
  return {
    sql_schema: guess.schema,
    dialect: {
      new_line: dialect.newLine,
      has_header: guess.csv?.hasHeader === true ? 1 : 0,
      delimiter: guess.csv?.delimiter ?? '',
      escapechar: guess.csv?.escapeCharacter ?? null,
    },
    // One node holds all rows, so nothing has to be told apart by a column.
    data_distribution: { sampling: 'rand()', sharding_key: 'rand()' },
    encoding: dialect.encoding,
    schema: guess.columns.map(({ name, path, typeText }) => ({
      auto: true,
      nullable: typeText.startsWith('Nullable('),
      type: typeText.replace(/^Nullable\((.*)\)$/, '$1'),
      normalized_name: name,
      name: path,
    })),
  }
}
