// The part of the table of errors that speaks of the disk.

interface ImportCut {
  readonly reason: string
  readonly storedRows: number
  readonly quarantinedRows: number
}

interface DiskRefusal {
  /** Of `diskFaultOf`. */
  readonly reason: string
  readonly retryAfterSeconds: number
}

export const diskDefinitions = {
  DISK_FAILED: {
    status: 500,
    when: 'The disk failed in the middle of an import, and rows of it are stored, or may be: a repeat of the whole body stores those twice. The counts are in the answer.',
    message: ({ reason, storedRows, quarantinedRows }: ImportCut) =>
      `The disk failed in the middle of the import: ${reason}. Rows known to be stored: ${storedRows}, in quarantine: ${quarantinedRows}. A repeat of the whole body stores them twice: delete them first, or repeat it as a replace`,
  },
  DISK_UNAVAILABLE: {
    status: 503,
    when: 'The disk is full, read-only or failing, or too many files are open. Nothing was stored or changed; repeat it later.',
    message: ({ reason }: DiskRefusal) =>
      `The disk takes nothing at the moment: ${reason}; nothing of this request was stored, repeat it later`,
    retryAfterSeconds: ({ retryAfterSeconds }: DiskRefusal) => retryAfterSeconds,
  },
}
