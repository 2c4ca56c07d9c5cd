import type { DataSources } from './datasources.types.ts'

/** Bytes on disk of all data sources, their quarantines among them. Raises errors of the error table (408, 500, 503). */
export async function storageBytes(dataSources: Pick<DataSources, 'statistics'>): Promise<number> {
  const sizes = [...(await dataSources.statistics()).values()]
  return sizes.reduce((sum, { landing, quarantine }) => sum + landing.byteCount + quarantine.byteCount, 0)
}
