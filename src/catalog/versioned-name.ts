// Names with a version behind them. Older projects write `VERSION 3` into the file of `views`, and `views__v3` wherever they read
// it or send rows to it.
//
// The one rule, for whatever way a name is sent: an exact name comes first. Where nothing has it, `views__v3` is `views`, unless
// that was given another version. What was given none is read under any, as nothing says which is wrong.

export interface VersionedName {
  readonly base: string
  readonly version: number
}

interface Versioned {
  readonly name: string
  /** The version that it was given; absent for none. */
  readonly declaredVersion?: number
}

const mark = '__v'

/** The two parts of a name; null for one without a version. */
export function splitVersion(name: string): VersionedName | null {
  const position = name.lastIndexOf(mark)
  if (position <= 0) return null
  const digits = name.slice(position + mark.length)
  return /^\d{1,9}$/.test(digits) ? { base: name.slice(0, position), version: Number(digits) } : null
}

/** Whether something is read under a version. */
export function hasVersion({ declaredVersion }: Pick<Versioned, 'declaredVersion'>, version: number): boolean {
  return declaredVersion === undefined || declaredVersion === version
}

/** Says under which version something is known that was asked for under another one; undefined where that is not so. */
export function versionAdvice(name: string, known: readonly Versioned[]): string | undefined {
  const parts = splitVersion(name)
  const meant = parts === null ? undefined : known.find((one) => one.name === parts.base)
  if (meant?.declaredVersion === undefined || known.some((one) => one.name === name)) return undefined
  const { name: base, declaredVersion } = meant
  return `'${base}' has the version ${declaredVersion}: it is '${base}' or '${base}${mark}${declaredVersion}'`
}

/** Why a name with a version drops nothing: what was never given a version may be meant by any. */
export function dropAdvice(name: string, meant: string): string {
  return `'${name}' is read as '${meant}', which was given no version: DELETE takes the name '${meant}'`
}
