import { errors } from '../../shared/errors/errors.ts'
import type { Parameters } from './parameters.ts'

const expected =
  'a time, as seconds since 1970 or as YYYY-MM-DD HH:MM:SS, in UTC unless it ends with a zone such as Z or +02:00'
// Beyond the year 9999 no text of a time is read any more.
const secondsMax = 253_402_300_799

/**
 * A time in epoch milliseconds, sent as seconds since 1970 or as a timestamp; undefined when absent.
 *
 * @throws PARAMETER_INVALID (400)
 */
export function readMoment(parameters: Parameters, name: string): number | undefined {
  const value = parameters.text(name)
  if (value === undefined) return undefined
  const ms = /^\d{1,12}(\.\d{1,9})?$/.test(value) ? Math.floor(Number(value) * 1_000) : timestampMs(value)
  if (Number.isNaN(ms) || ms > secondsMax * 1_000) throw errors.PARAMETER_INVALID({ parameter: name, value, expected })
  return ms
}

function timestampMs(text: string): number {
  // A plus of a URL is a blank, and nobody escapes it.
  const parts = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?) ?(Z|[+-]?\d\d:\d\d)?)?$/i.exec(text)
  if (parts === null) return Number.NaN
  const [, date = '', time = '00:00', zone = 'Z'] = parts
  const sign = /^\d/.test(zone) ? '+' : ''
  return Date.parse(`${date}T${time.slice(0, 12)}${sign}${zone.toUpperCase()}`)
}
