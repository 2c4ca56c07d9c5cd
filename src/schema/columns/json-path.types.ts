/**
 * Where a column finds its value in a record, as data.
 *
 * - `$` is `{ keys: [], element: null }`: the whole record.
 * - `$.a.b` is `{ keys: ['a', 'b'], element: null }`.
 * - `$.a.b[:]` is `{ keys: ['a', 'b'], element: [] }`: the array itself, element by element.
 * - `$.a[:].b.c` is `{ keys: ['a'], element: ['b', 'c'] }`: one value out of each element.
 */
export interface JsonPath {
  readonly keys: readonly string[]
  readonly element: readonly string[] | null
}
