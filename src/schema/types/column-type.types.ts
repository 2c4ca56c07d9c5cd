/** Integer types by ClickHouse name; the number is the width in bits. */
export type IntegerTypeName = `${'Int' | 'UInt'}${8 | 16 | 32 | 64 | 128 | 256}`

/**
 * A ClickHouse column type as a tree. Plain data: it is stored in the catalog and sent to workers as it is.
 *
 * `Nullable`, `LowCardinality` and `SimpleAggregateFunction` stay in the tree; `valueTypeOf` looks through them.
 */
export type ColumnType =
  | { readonly kind: 'integer'; readonly name: IntegerTypeName; readonly bits: number; readonly isSigned: boolean }
  | { readonly kind: 'float'; readonly bits: 32 | 64 }
  | { readonly kind: 'decimal'; readonly precision: number; readonly scale: number }
  | { readonly kind: 'bool' }
  | { readonly kind: 'string' }
  | { readonly kind: 'fixedString'; readonly byteCount: number }
  | { readonly kind: 'uuid' }
  | { readonly kind: 'date' }
  | { readonly kind: 'date32' }
  /** `zone` is an IANA name, or null for the service's zone, which is UTC. */
  | { readonly kind: 'dateTime'; readonly zone: string | null }
  /** `scale` is the number of decimal places of a second, 0 to 9. */
  | { readonly kind: 'dateTime64'; readonly scale: number; readonly zone: string | null }
  | { readonly kind: 'enum'; readonly bits: 8 | 16; readonly members: readonly EnumMember[] }
  | { readonly kind: 'ipv4' }
  | { readonly kind: 'ipv6' }
  /** `parameters` is the text between the parentheses, empty when there are none. */
  | { readonly kind: 'json'; readonly parameters: string }
  | { readonly kind: 'lowCardinality'; readonly inner: ColumnType }
  | { readonly kind: 'nullable'; readonly inner: ColumnType }
  | { readonly kind: 'array'; readonly element: ColumnType }
  | { readonly kind: 'map'; readonly key: ColumnType; readonly value: ColumnType }
  /** `name` is null in every field of an unnamed tuple and in none of a named one. */
  | { readonly kind: 'tuple'; readonly fields: readonly TupleField[] }
  | { readonly kind: 'simpleAggregateFunction'; readonly aggregate: string; readonly inner: ColumnType }
  /** Allowed in a schema, never read from JSON or CSV; `parameters` is the text between the parentheses. */
  | { readonly kind: 'aggregateFunction'; readonly parameters: string }

export interface EnumMember {
  readonly name: string
  readonly value: number
}

export interface TupleField {
  readonly name: string | null
  readonly type: ColumnType
}
