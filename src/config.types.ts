/** What a default may depend on. */
export interface DefaultBasis {
  /** Cores that this process may use. */
  readonly coreCount: number
  /** Memory that this process may use: the machine's, or the container's where that is less. */
  readonly memoryBytes: number
  /** The option `workers`, once it has been read. */
  readonly workerCount: number
  /** The options of these names. */
  readonly plan: PlanName
  readonly planVariant: PlanVariant
}

export type PlanName = 'unlimited' | 'free' | 'developer' | 'saas' | 'enterprise' | 'enterprise-dedicated'

/** Of two published values: the one that differs by plan, or the one that is the same in all. */
export type PlanVariant = 'a' | 'b'

export type Unit =
  | 'bytes'
  | 'ms'
  | 'rows'
  | 'threads'
  | 'frames'
  | 'statements'
  | 'sessions'
  | 'columns'
  | 'partitions'
  | 'tokens'
  | 'jobs'
  | 'hours'
  | 'days'

interface OptionBase {
  /** One sentence for `--help` and docs/options.md. */
  readonly sentence: string
}

export interface IntegerOption extends OptionBase {
  readonly kind: 'integer'
  /** Null for a plain number, such as a port. */
  readonly unit: Unit | null
  readonly min: number
  readonly max: number
  readonly default: number | DerivedDefault
}

/** A default that the machine decides; `text` tells readers how. */
export interface DerivedDefault {
  readonly text: string
  readonly from: (basis: DefaultBasis) => number
}

export interface TextOption extends OptionBase {
  readonly kind: 'text'
  readonly default: string
  /** Text that is no such thing is refused; `expected` ends the sentence "must be …". */
  readonly pattern: RegExp
  readonly expected: string
}

/** Text that must not be printed, and may be left out; `defaultText` tells readers what happens then. */
export interface SecretOption extends OptionBase {
  readonly kind: 'secret'
  readonly defaultText: string
  readonly pattern: RegExp
  readonly expected: string
}

export interface ChoiceOption<Choice extends string = string> extends OptionBase {
  readonly kind: 'choice'
  readonly choices: readonly Choice[]
  readonly default: Choice
}

/** Off unless it is given: `--name` alone, or `--name=false`; in the environment `true` or `false`. */
export interface SwitchOption extends OptionBase {
  readonly kind: 'switch'
}

export type OptionDefinition = IntegerOption | TextOption | SecretOption | ChoiceOption | SwitchOption

/** The type that an option's value has in the program. */
export type OptionValue<Definition extends OptionDefinition> = Definition extends { readonly kind: 'integer' }
  ? number
  : Definition extends { readonly kind: 'text' }
    ? string
    : Definition extends { readonly kind: 'secret' }
      ? string | undefined
      : Definition extends { readonly kind: 'switch' }
        ? boolean
        : Definition extends ChoiceOption<infer Choice>
          ? Choice
          : never
