const serviceWorkspaces: ReadonlySet<string> = new Set(['tinybird', 'organization'])

/** Whether a name is that of a service data source, `tinybird.pipe_stats_rt`: it is its id too, and no other id has a dot in it. */
export function isServiceName(name: string): boolean {
  const dot = name.indexOf('.')
  return dot > 0 && serviceWorkspaces.has(name.slice(0, dot)) && /^\w+$/.test(name.slice(dot + 1))
}
