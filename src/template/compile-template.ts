// The door of the room: SQL templates of pipes, compiled once and rendered for each request.
//
// The language is Tornado's template syntax with a subset of Python inside, run by an interpreter of our own: no text of a
// template ever becomes JavaScript. Every value a caller sends leaves as one whole literal, identifier or number.

import { didYouMean } from '../shared/nearest-name.ts'
import type { CallContext, SettingsDraft } from './functions/function-call.ts'
import { templateFunctions } from './functions/function-table.ts'
import { elementPlaceholder, readArray } from './functions/typed-functions.ts'
import { Meter } from './meter.ts'
import { surveyNames, type TemplateNames, type UnknownCall } from './parameters.ts'
import { Renderer } from './renderer.ts'
import { quoteText } from './sql-escapes.ts'
import { SqlWriter } from './sql-writer.ts'
import type { Statement } from './syntax.types.ts'
import {
  defaultTemplateLimits,
  type ParameterValue,
  type RenderContext,
  type RenderedTemplate,
  type Template,
  type TemplateLimits,
} from './template.types.ts'
import { limitFault, placeOf, TemplateError, TemplateFault, templateFault } from './template-error.ts'
import { parseTemplate } from './template-parser.ts'
import { fromParameter, Placeholder, SequenceValue, type Value } from './values.ts'

/** Whether SQL is a template: its first character that is no blank is `%`. */
export function isTemplate(sql: string): boolean {
  return /^\s*%/.test(sql)
}

/**
 * Compiles SQL. Without the mark `%` it has no tags, and is rendered as it is.
 *
 * The result is immutable and may be kept for as long as the text stays the same.
 * @throws TemplateError with line and column: wrong syntax, names that cannot be used, limits passed.
 */
export function compileTemplate(source: string, limits: TemplateLimits = defaultTemplateLimits): Template {
  return atPlace(
    source,
    () => 0,
    () => {
      if (source.length > limits.sourceCharactersMax) {
        throw limitFault(`the template is longer than ${limits.sourceCharactersMax} characters`)
      }
      const isTemplated = isTemplate(source)
      const statements = isTemplated ? templateOf(source, limits.nestingMax) : plainText(source)
      const lineAt = (offset: number) => placeOf(source, offset).line
      const names = surveyNames(statements, { parametersMax: limits.parametersMax, lineAt })
      const compiled: CompiledTemplate = { source, statements, names, limits }
      return Object.freeze({
        isTemplated,
        statements,
        parameters: names.parameters,
        tables: names.tables,
        secretNames: names.secretNames,
        warnings: names.warnings,
        render: (values, context) => render(compiled, values, context),
      } satisfies Template)
    },
  )
}

interface CompiledTemplate {
  readonly source: string
  readonly statements: readonly Statement[]
  readonly names: TemplateNames
  readonly limits: TemplateLimits
}

/** Lines in front of the mark stay, as blanks: the engine tells lines of the rendered text, and they are told as those of the source. */
function templateOf(source: string, nestingMax: number): readonly Statement[] {
  const markOffset = source.indexOf('%')
  const linesBefore = source.slice(0, markOffset).replaceAll(/[^\n]/g, '')
  return [...plainText(linesBefore), ...parseTemplate(source, markOffset + 1, nestingMax)]
}

function plainText(source: string): readonly Statement[] {
  return source === '' ? [] : [{ kind: 'text', text: source, offset: 0 }]
}

/** Runs, and gives faults their line and column. */
function atPlace<Result>(source: string, offset: () => number, run: () => Result): Result {
  try {
    return run()
  } catch (error) {
    if (!(error instanceof TemplateFault)) throw error
    throw new TemplateError(error, { cause: error, place: placeOf(source, error.offset ?? offset()) })
  }
}

function render(
  { source, statements, names, limits }: CompiledTemplate,
  values: ReadonlyMap<string, ParameterValue>,
  context: RenderContext,
): RenderedTemplate {
  const settings: SettingsDraft = {
    maxThreads: null,
    cacheTtlSeconds: null,
    backendHint: null,
    activated: [],
    disabled: [],
  }
  const secrets = new Map<string, string>()
  const callContext: CallContext = {
    isCheck: context.mode === 'check',
    meter: new Meter(limits),
    requiredNames: names.requiredNames,
    settings,
    secretSql: (name, fallback) => secretSql({ name, fallback }, context, secrets),
  }
  const writer = new SqlWriter(limits.renderedCharactersMax)
  let renderer: Renderer | null = null
  return atPlace(
    source,
    () => renderer?.offset ?? 0,
    () => {
      if (context.mode === 'check' && names.unknownCall !== null) throw unknownCallFault(source, names.unknownCall)
      renderer = new Renderer({
        variables: startVariables(names, values, context),
        context: callContext,
        writer,
        conditions: context,
      })
      renderer.run(statements)
      return { sql: writer.text, settings, secrets, secretSpans: writer.secretSpans }
    },
  )
}

/** A saved template has no wrong call in any branch: most branches are not taken while it is checked. */
function unknownCallFault(source: string, { name, offset }: UnknownCall): TemplateFault {
  const fault = templateFault(`'${name}' is not a valid function, line ${placeOf(source, offset).line}`, offset)
  return fault.withHint(didYouMean(name, templateFunctions.keys()))
}

/** The values of the names that the template uses; those that are arrays somewhere as lists. */
function startVariables(
  { usedNames, arrayTypes }: TemplateNames,
  values: ReadonlyMap<string, ParameterValue>,
  context: RenderContext,
): Map<string, Value> {
  const variables = new Map<string, Value>()
  for (const name of usedNames) {
    const given = values.get(name) ?? (name === 'job_timestamp' ? context.jobTimestamp : undefined) ?? null
    const elementType = arrayTypes.get(name)
    if (given !== null) variables.set(name, arrayOr(fromParameter(given), elementType))
    else if (context.mode === 'check') variables.set(name, placeholderOf(name, elementType))
  }
  return variables
}

/** What is missing while a template is checked; one that is an array somewhere has elements of its type. */
function placeholderOf(name: string, elementType: string | undefined): Placeholder {
  return new Placeholder(name, elementType === undefined ? null : elementPlaceholder(elementType))
}

/** A value that is no such array stays as it is: `Array()` refuses it when it is called. */
function arrayOr(value: Value, elementType: string | undefined): Value {
  if (elementType === undefined || value === null) return value
  try {
    const { items } = readArray(value, elementType)
    return new SequenceValue('list', items)
  } catch (error) {
    if (error instanceof TemplateFault && !error.isFinal) return value
    throw error
  }
}

interface SecretUse {
  readonly name: string
  readonly fallback: string | null
}

function secretSql(
  { name, fallback }: SecretUse,
  context: RenderContext,
  secrets: Map<string, string>,
): string | undefined {
  const value = context.secret(name)
  // A default is the author's own text, and no secret.
  if (value === undefined && fallback !== null) return quoteText(fallback)
  if (context.mode === 'check') return `{${name}: String}`
  if (value === undefined) return undefined
  if (context.secretsAs === 'literals') return quoteText(value)
  secrets.set(name, value)
  return `{${name}: String}`
}
