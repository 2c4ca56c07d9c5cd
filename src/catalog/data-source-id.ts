import type { DataSourceId } from './data-source.types.ts'
import { createResourceId, findResourceId } from './resource-id.ts'

/** A new id. */
export function createDataSourceId(): DataSourceId {
  return parseDataSourceId(createResourceId())
}

/** @throws Error when the text is no id: for ids of our own, which are always right. */
export function parseDataSourceId(text: string): DataSourceId {
  const id = findDataSourceId(text)
  if (id === undefined || id !== text) throw new Error(`'${text}' is not the id of a data source`)
  return id
}

/** The id that a caller wrote, with or without a label; undefined when the text is no id. */
export function findDataSourceId(text: string): DataSourceId | undefined {
  // Whether there is such a data source is for the catalog to say.
  return findResourceId(text) as DataSourceId | undefined
}
