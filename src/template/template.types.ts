import type { Statement } from './syntax.types.ts'

/**
 * What a caller sends for one parameter: a string from a query string or form (a list when it came several times), or any
 * JSON value of a body. Integers may be bigint.
 */
export type ParameterValue =
  | string
  | number
  | bigint
  | boolean
  | null
  | readonly ParameterValue[]
  | { readonly [key: string]: ParameterValue }

/** One entry of `nodes[].params`. Integers that a double cannot hold are given as strings. */
export interface TemplateParameter {
  readonly name: string
  /** The name of its function (`Int32`), or `Array(Int32)`; `String` for a name without a type. */
  readonly type: string
  /** The literal in the template; null when there is none. */
  readonly default: ParameterValue
  readonly required?: boolean
  readonly description?: string
  readonly enum?: ParameterValue
  readonly example?: ParameterValue
  readonly format?: string
  /** The name is only ever an argument of `defined()` and its like. */
  readonly used_in?: 'function_call'
}

/** Everything about a template that has a maximum. Characters are UTF-16 units. */
export interface TemplateLimits {
  readonly sourceCharactersMax: number
  /** Blocks in blocks, and brackets in brackets. */
  readonly nestingMax: number
  /** Turns of all loops of one rendering together, and elements that functions touch. */
  readonly loopIterationsMax: number
  /** Of the rendered text, and of any string or list on the way to it. */
  readonly renderedCharactersMax: number
  readonly parametersMax: number
}

export const defaultTemplateLimits: TemplateLimits = {
  sourceCharactersMax: 256 * 1024,
  nestingMax: 60,
  loopIterationsMax: 100_000,
  renderedCharactersMax: 1024 * 1024,
  parametersMax: 500,
}

/** What surrounds one rendering. The room has no clock and no storage: both come in here. */
export interface RenderContext {
  /** `run` answers a request; `check` renders with placeholders for what is missing, to validate a node. */
  readonly mode: 'run' | 'check'
  /** The value of a secret, or undefined when there is none that may be read. */
  readonly secret: (name: string) => string | undefined
  /**
   * `parameters` prints `{name: String}` and gives the values back in `secrets`; `literals` prints quoted literals, for an
   * engine that binds nothing. Such a text must not be logged or shown.
   */
  readonly secretsAs: 'parameters' | 'literals'
  /**
   * Answers conditions of `{% if %}` by their texts in place of the values, so that any branch can be looked at; loops over
   * nothing run once then. Undefined leaves a condition to the values.
   */
  readonly decide?: ((condition: string) => boolean | undefined) | undefined
  /** Told what each condition of `{% if %}` and `{% while %}` came to, in turn. */
  readonly onCondition?: (isMet: boolean, offset: number) => void
  /** What the next of these conditions comes to, whatever the values are, as `onCondition` was told it; undefined leaves it to them. */
  readonly nextCondition?: (offset: number) => boolean | undefined
  /** `job_timestamp` when the caller's values have none, as `YYYY-MM-DD HH:MM:SS`. */
  readonly jobTimestamp?: string | undefined
}

/** What a template asks of the query that runs it. The last call wins. */
export interface TemplateSettings {
  readonly maxThreads: number | null
  readonly cacheTtlSeconds: number | null
  readonly backendHint: string | null
  /** Of `activate()`. */
  readonly activated: readonly string[]
  /** Of `disable()`. */
  readonly disabled: readonly string[]
}

export interface RenderedTemplate {
  readonly sql: string
  readonly settings: TemplateSettings
  /** Values of the `{name: String}` parameters in `sql`, in the order of their first use. Empty in check mode. */
  readonly secrets: ReadonlyMap<string, string>
  /** Where `tb_secret()` and `tb_var()` were printed into code, in the order of the text. */
  readonly secretSpans: readonly TextSpan[]
}

/** A part of a text, in UTF-16 units. */
export interface TextSpan {
  readonly start: number
  readonly end: number
}

/** A compiled template: immutable, and good for any number of renderings. */
export interface Template {
  /** False for SQL without `%`, which is rendered as it is. */
  readonly isTemplated: boolean
  readonly statements: readonly Statement[]
  readonly parameters: readonly TemplateParameter[]
  /** Literal arguments of `table()` in all branches, each once, in source order. */
  readonly tables: readonly string[]
  /** Literal arguments of `tb_secret()` and `tb_var()` in all branches, each once, in source order. */
  readonly secretNames: readonly string[]
  /** Sentences about names that are reserved and still used. */
  readonly warnings: readonly string[]
  /**
   * The SQL for these values. Names that the template does not use are ignored.
   *
   * @throws TemplateError with line and column.
   */
  readonly render: (values: ReadonlyMap<string, ParameterValue>, context: RenderContext) => RenderedTemplate
}
