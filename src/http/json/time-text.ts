/** `YYYY-MM-DD HH:MM:SS.ffffff` in UTC; our clock has milliseconds. */
export function timeText(epochMs: number): string {
  return `${new Date(epochMs).toISOString().replace('T', ' ').slice(0, -1)}000`
}
