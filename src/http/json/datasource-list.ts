import type { DataSource } from '../../catalog/data-source.types.ts'
import { BoundedCache } from '../../shared/bounded-cache.ts'
import { mebibyte } from '../../shared/bytes.ts'
import { giveWay } from '../../shared/time-slices.ts'
import { type DerivedFields, listShape, rowsIn, sizeShape, wantedNames } from './datasource-shape.ts'

const keptBounds = { entriesMax: 10_000, weightMax: 32 * mebibyte }

/** What is told of a data source that does not come from its definition. */
const changingNames = ['statistics', 'used_by', 'quarantine_rows', 'new_columns_detected'] as const
const needStatistics: readonly string[] = ['statistics', 'quarantine_rows']

interface KeptTexts {
  readonly dataSource: DataSource
  /** Each field as JSON, in the order of the answer; those that change are left empty. */
  readonly fields: readonly (readonly [name: string, text: string])[]
}

/** The list of data sources as text. What a definition gives is made once, and others have their turn in between. */
export class DataSourceList {
  readonly #kept = new BoundedCache<KeptTexts>(keptBounds)

  /** Whether the list tells anything that the database has to be asked for. */
  needsStatistics(attrs: string | undefined): boolean {
    const wanted = wantedNames(attrs)
    return wanted === null || needStatistics.some((name) => wanted.has(name))
  }

  /** The items with nothing but `attrs`, in an array; undefined or an empty list of names gives all fields. */
  async text(
    dataSources: readonly DataSource[],
    derivedOf: (dataSource: DataSource) => DerivedFields,
    attrs: string | undefined,
  ): Promise<string> {
    const wanted = wantedNames(attrs)
    const texts: string[] = []
    for (const dataSource of dataSources) {
      texts.push(this.#itemText(dataSource, derivedOf(dataSource), wanted))
      await giveWay()
    }
    return `[${texts.join(',')}]`
  }

  #itemText(dataSource: DataSource, derived: DerivedFields, wanted: ReadonlySet<string> | null): string {
    const changing = changingTexts(derived)
    const members: string[] = []
    for (const [name, text] of this.#fieldsOf(dataSource)) {
      if (wanted === null || wanted.has(name)) members.push(`"${name}":${changing.get(name) ?? text}`)
    }
    return `{${members.join(',')}}`
  }

  /** A definition is another object as soon as anything of it has changed. */
  #fieldsOf(dataSource: DataSource): KeptTexts['fields'] {
    const { id } = dataSource
    const kept = this.#kept.get(id)
    if (kept?.dataSource === dataSource) return kept.fields
    const fields = Object.entries(listShape(dataSource, { statistics: undefined })).map(
      ([name, value]) => [name, JSON.stringify(value)] as const,
    )
    const weight = fields.reduce((sum, [, text]) => sum + text.length, 0)
    this.#kept.set(id, { dataSource, fields }, weight)
    return fields
  }
}

function changingTexts(derived: DerivedFields): ReadonlyMap<string, string> {
  const { statistics, usedBy = [], newColumns = new Map() } = derived
  const users = usedBy.map(({ id, name }) => ({ id, name }))
  const [statisticsName, usedByName, quarantineName, newColumnsName] = changingNames
  return new Map([
    [statisticsName, JSON.stringify(sizeShape(statistics))],
    [usedByName, JSON.stringify(users)],
    [quarantineName, String(rowsIn(statistics, 'quarantine'))],
    [newColumnsName, JSON.stringify(Object.fromEntries(newColumns))],
  ])
}
