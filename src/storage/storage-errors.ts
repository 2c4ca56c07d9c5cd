/** What is kept is not as it was written. The message is a clause: "it is cut at …". */
export class StorageDamagedError extends Error {
  override readonly name = 'StorageDamagedError'
}

/** The file is of a later release, or of another program. */
export class StorageLayoutError extends Error {
  override readonly name = 'StorageLayoutError'
}

/** A record has another version than its writer read. Nothing of the batch was written: read again, decide again. */
export class StorageConflictError extends Error {
  override readonly name = 'StorageConflictError'
}
