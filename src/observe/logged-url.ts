/**
 * What the log keeps of a URL: the path, and of the query what the API knows and what is no secret and no row.
 *
 * It is a list of what is kept, not of what is left out, as callers put tokens wherever a URL has a place: behind a
 * semicolon or a second question mark, into a fragment, into a name.
 */
export function loggedUrl(url: string): string {
  const pathEnd = url.search(/[?#;&=]|%3[bdf]|%2[36]/i)
  const path = loggedPath(pathEnd < 0 ? url : url.slice(0, pathEnd))
  if (pathEnd < 0) return path
  const rest = url.slice(pathEnd)
  if (!rest.startsWith('?')) return `${path}${left}`
  const pairs = rest.slice(1, queryCharsMax).split('&')
  const kept = pairs.flatMap((pair): readonly string[] => (keptPair.test(pair) ? [pair] : [])).slice(0, pairsMax)
  const isWhole = kept.length === pairs.length && rest.length <= queryCharsMax
  const query = isWhole ? kept : [...kept, left]
  return `${path}?${query.join('&')}`
}

/** The path of a URL, with segments that are no names blanked. */
export function loggedPath(path: string): string {
  const segments = path.slice(0, pathCharsMax).split('/').slice(0, segmentsMax)
  const kept = segments.map((segment, index) => {
    const isOfToken = segments[index - 1] === 'tokens'
    return keptSegment.test(segment) && !isOfToken && !isNamedSecret.test(segment) ? segment : blank
  })
  return path.length > pathCharsMax ? `${kept.join('/')}${left}` : kept.join('/')
}

/** Stands for what is left out behind. */
const left = '…'
const blank = '…'
const pathCharsMax = 1_000
const segmentsMax = 12
const queryCharsMax = 2_000
const pairsMax = 20
const keptSegment = /^[\w.~:-]{0,200}$/
/** `tokens` is a path of the API, `token-abc` is somebody's slip. */
const isNamedSecret = /token(?!s$)|bearer|secret|passw|authorization/i

/** Parameters whose values are names and words of the API. */
const keptNames = [
  'name',
  'mode',
  'format',
  'wait',
  'debug',
  'type_guessing',
  'dry_run',
  'force',
  'pipeline',
  'push_deps',
  'include_used_by',
  'attrs',
  'node_attrs',
]
const keptPair = new RegExp(`^(?:${keptNames.join('|')})=[\\w.,-]{0,128}$`)
