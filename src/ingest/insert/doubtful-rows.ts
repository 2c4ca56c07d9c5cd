/** Rows of INSERTs that were under way when an import ended, so that nobody knows whether they are stored: what its sender is told of them. */
export function doubtWarnings(rowCount: number): readonly string[] {
  if (rowCount === 0) return []
  return [
    `Up to ${rowCount} further rows may be stored, now or in a moment: their INSERT was under way when the import ended, or when it was interrupted. Count the rows of the Data Source, or import all of it again as a replace`,
  ]
}
