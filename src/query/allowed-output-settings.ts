import { errors } from '../shared/errors/errors.ts'

// The settings of an answer's shape that a client may choose; all of them are 0 unless it says 1.
const allowed = [
  'output_format_json_quote_64bit_integers',
  'output_format_json_quote_denormals',
  'output_format_parquet_string_as_string',
] as const

/**
 * The output settings among a request's parameters; others are no settings and are passed over.
 *
 * @throws PARAMETER_INVALID (400) for a value other than 0 and 1.
 */
export function readOutputSettings(parameter: (name: string) => string | undefined): Readonly<Record<string, number>> {
  const settings: Record<string, number> = {}
  for (const name of allowed) {
    const value = parameter(name) ?? '0'
    if (value !== '0' && value !== '1') throw errors.PARAMETER_INVALID({ parameter: name, value, expected: '0 or 1' })
    settings[name] = Number(value)
  }
  return settings
}
