import type { Meter } from '../meter.ts'
import { type TemplateFault, templateFault } from '../template-error.ts'
import { Placeholder, type Value } from '../values.ts'

/** The arguments of one call, evaluated. */
export class CallArguments {
  readonly positional: readonly Value[]
  readonly named: ReadonlyMap<string, Value>

  constructor(positional: readonly Value[], named: ReadonlyMap<string, Value>) {
    this.positional = positional
    this.named = named
  }

  /** By place, else by name; null when it was not given, or is None. */
  get(index: number, name: string): Value {
    return this.positional[index] ?? this.named.get(name) ?? null
  }

  get isEmpty(): boolean {
    return this.positional.length === 0 && this.named.size === 0
  }
}

/** What functions may know of, and tell, the rendering they run in. */
export interface CallContext {
  readonly isCheck: boolean
  readonly meter: Meter
  /** Typed parameters without default, in source order. */
  readonly requiredNames: readonly string[]
  readonly settings: SettingsDraft
  /** SQL that stands for a secret; undefined when there is no such secret. */
  readonly secretSql: (name: string, fallback: string | null) => string | undefined
}

/** The settings while they are gathered. */
export interface SettingsDraft {
  maxThreads: number | null
  cacheTtlSeconds: number | null
  backendHint: string | null
  readonly activated: string[]
  readonly disabled: string[]
}

export type TemplateFunction = (call: CallArguments, context: CallContext) => Value

/** Nothing, or a parameter without a value. */
export function isMissing(value: Value): value is null | Placeholder {
  return value === null || value instanceof Placeholder
}

/** The refusal of a call whose parameter has neither value nor default. */
export function requiredFault({ requiredNames: names }: CallContext): TemplateFault {
  const reason = 'Required parameter is not defined'
  if (names.length === 0) return templateFault(reason)
  const listed = names.length === 1 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`
  return templateFault(
    `${reason}. Check the parameters ${listed}. Please provide a value or set a default value in the pipe code.`,
  )
}
