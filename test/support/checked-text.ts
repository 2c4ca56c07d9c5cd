/**
 * A literal of a test as a branded text, in the place of what makes one in the service: `checked<CheckedQuery>('SELECT 1')`.
 * Where the type is known from around it, it may be left out.
 */
export function checked<Text extends string>(text: string): Text {
  // A test vouches for its own words.
  return text as Text
}
