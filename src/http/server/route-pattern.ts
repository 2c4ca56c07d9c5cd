/** By the path as it was registered; there are as many as routes. */
const patterns = new Map<string, string>()

/** The pattern of a route's path without the rules of its parameters, which are no news to whoever watches the service. */
export function routePattern(url: string): string {
  const known = patterns.get(url)
  if (known !== undefined) return known
  const pattern = url.replaceAll(/(:\w+)\((?:[^()]|\([^()]*\))*\)/g, '$1')
  patterns.set(url, pattern)
  return pattern
}
