/** What a value is taken for, as JSON that a ClickHouse server reads in one way alone, and the reasons for which it may read the value otherwise. */
export type Canonical =
  | { readonly kind: 'taken'; readonly json: string; readonly reasons: readonly string[] }
  | { readonly kind: 'refused'; readonly reasons: readonly string[] }
  | { readonly kind: 'unknown' }

export function respelled(json: string, ...reasons: readonly string[]): Canonical {
  return { kind: 'taken', json, reasons }
}

export function refusal(...reasons: readonly string[]): Canonical {
  return { kind: 'refused', reasons }
}

/** The same, with these reasons before its own. */
export function withReason(found: Canonical, ...reasons: readonly string[]): Canonical {
  return found.kind === 'unknown' ? found : { ...found, reasons: [...reasons, ...found.reasons] }
}
