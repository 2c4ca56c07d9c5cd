/**
 * The part of a room that is kept for owners who have next to nothing of it yet: however few others fill the rest, whoever comes
 * next finds a place.
 */
export function newcomersShareOf(whole: number): number {
  return Math.floor(whole / 4)
}
