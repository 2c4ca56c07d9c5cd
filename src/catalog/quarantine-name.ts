/** What the name of a quarantine ends with; names of data sources do not. */
export const quarantineSuffix = '_quarantine'

/** The name of the data source whose quarantine has this name; any other name as it is. */
export function withoutQuarantine(name: string): string {
  return name.endsWith(quarantineSuffix) ? name.slice(0, -quarantineSuffix.length) : name
}
