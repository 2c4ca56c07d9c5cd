/**
 * So many UTF-16 units of a text, from its beginning; one fewer where that would leave half of a character, which JSON can write and
 * many readers refuse.
 */
export function beginningOf(text: string, unitsMax: number): string {
  if (text.length <= unitsMax) return text
  const last = text.charCodeAt(unitsMax - 1)
  const isFirstHalf = last >= 0xd800 && last <= 0xdbff
  return text.slice(0, isFirstHalf ? unitsMax - 1 : unitsMax)
}

/** The same with `…` behind it where something is left out. */
export function shortenedText(text: string, unitsMax: number): string {
  return text.length <= unitsMax ? text : `${beginningOf(text, unitsMax)}…`
}
