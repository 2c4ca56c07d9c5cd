// Paths of the specification, and of what clients send, that have nothing behind them yet.

const planned: readonly (readonly [paths: RegExp, absent: string])[] = [
  [/^\/v0\/datasources\/[^/]+\/(?:exchange|share|dependencies|scheduling\/\w+)$/, 'this operation of Data Sources'],
  [/^\/v0\/pipes\/[^/]+(?:\/nodes\/[^/]+)?\/copy(?:\/\w+)?$/, 'copy pipes'],
  [/^\/v0\/pipes\/[^/]+(?:\/nodes\/[^/]+)?\/sink(?:\/\w+)?$/, 'exports of pipes'],
  [/^\/v0\/pipes\/[^/]+\/nodes\/[^/]+\/stream$/, 'streaming pipes'],
  [/^\/v0\/(?:connectors|connections|integrations)(?:\/|$)/, 'connectors'],
  [/^\/v[01]\/(?:environments|branches)(?:\/|$)/, 'branches'],
  [/^\/v[01]\/(?:deploy|build|deployments|datafiles)(?:\/|$)/, 'deployments of projects'],
  [/^\/v[01]\/(?:user\/)?workspaces?(?:\/|$)/, 'workspaces'],
  [/^\/v[01]\/(?:regions|organizations|billing|auth|tags)(?:\/|$)/, 'this part of the API'],
  [/^\/v0\/sql_(?:format|tables|replace|copy)(?:\/|$)/, 'this form of queries'],
]

/** What is planned at a path, as the object of a sentence; undefined where nothing is. */
export function plannedAt(path: string): string | undefined {
  const plain = path.replace(/\/$/, '')
  return planned.find(([paths]) => paths.test(plain))?.[1]
}
