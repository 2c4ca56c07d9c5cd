/**
 * What names of values that are nobody's to read have in them, as the source of a regular expression without regard to case; one list for
 * parameters and for `name=value` in texts. Short words count at the end of a word alone: `passenger`, `author` and `signal` are no secrets.
 */
export const secretNameSource =
  'token|secret|passw|passphrase|passcode|pwd|credential|cookie|signature|bearer|authori[sz]ation|jwt' +
  '|(?:api|access|private|secret|encryption)[_-]?key|sess(?:ion)?[_-]?id|(?:pass|sig|auth|session)(?![a-z])'

/** Whether the value of this name is to be hidden. */
export function isSecretName(name: string): boolean {
  return secretName.test(name)
}

const secretName = new RegExp(secretNameSource, 'i')
