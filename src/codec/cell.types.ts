/**
 * A value as it stands in the input, before a column's type has judged it.
 *
 * `text` is the decoded string for `string` and `cell`, and the exact source text for all other kinds
 * (numbers keep every digit). `cell` is a CSV field; `isQuoted` tells `""` from nothing.
 */
export type RawValue =
  | { readonly kind: 'null' }
  | { readonly kind: 'boolean'; readonly text: 'true' | 'false' }
  | { readonly kind: 'number'; readonly text: string }
  | { readonly kind: 'string'; readonly text: string }
  | { readonly kind: 'array'; readonly text: string; readonly items: readonly RawValue[] }
  | { readonly kind: 'object'; readonly text: string; readonly entries: ReadonlyMap<string, RawValue> }
  | { readonly kind: 'cell'; readonly text: string; readonly isQuoted: boolean }

/**
 * A judged value in the one form that a column stores:
 *
 * - `number`: Int8 to Int32, UInt8 to UInt32, Float32, Float64, Bool (0 or 1), Enum (its value), IPv4 (as UInt32),
 *   Date and Date32 (days since 1970-01-01), DateTime (seconds since the epoch);
 * - `bigint`: Int64, UInt64, DateTime64 (ticks of 10^-scale seconds since the epoch);
 * - `string`: String and FixedString as they are; Int128 and wider, Decimal, UUID, IPv6 and JSON as canonical text
 *   that the engine casts without failing;
 * - arrays: Array and Tuple by element, Map as `[key, value]` pairs; `null` only where the type is Nullable.
 */
export type Cell = number | bigint | string | null | readonly Cell[]

/** What a column's type says of a value: the cell, or that it does not fit. Data, never an exception. */
export type Verdict = { readonly isAccepted: true; readonly cell: Cell } | { readonly isAccepted: false }
