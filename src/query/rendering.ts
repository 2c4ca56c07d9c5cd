import { ApiError } from '../shared/errors/errors.ts'
import { nearestName } from '../shared/nearest-name.ts'
import type { ParameterValue, RenderContext, Template, TemplateSettings, TextSpan } from '../template/template.types.ts'
import { TemplateError } from '../template/template-error.ts'
import { type FixedValues, nothingFixed } from './fixed-parameters.ts'
import { checkSecretPlaces } from './secret-places.ts'
import { SecretUse } from './secret-use.ts'
import type { TemplateCache } from './template-cache.ts'
import { toTemplateFailure } from './template-failure.ts'

export type ParameterValues = ReadonlyMap<string, ParameterValue>

export interface RenderingOptions {
  readonly templates: TemplateCache
  /** Those of the request: shared by all nodes of a pipe, and by the pipes that it reads. */
  readonly parameters: ParameterValues
  /** What goes before them in the caller's own text, and in what it enters. */
  readonly fixed?: FixedValues
  readonly mode: RenderContext['mode']
  /** The value of a secret; undefined when there is none. */
  readonly secretOf: (name: string) => string | undefined
  /** `job_timestamp` where the parameters have none, as `YYYY-MM-DD HH:MM:SS`; a check has a placeholder for it. */
  readonly jobTimestamp?: string
  /** Which branches are taken, whatever the values are. */
  readonly decide?: RenderContext['decide']
  /** What stands for each secret of another one's texts; absent are their values. */
  readonly again?: { readonly of: Rendering; readonly standIn: string }
}

/** The texts of one query: each is rendered when it is first asked for, and once. */
export class Rendering {
  readonly #options: RenderingOptions
  readonly #texts = new Map<string, RenderedText>()
  readonly #templates: Template[] = []
  /** By texts with secrets in them, what they were made of. */
  readonly #secretTexts = new Map<string, Written>()
  /** By what they were made of. */
  readonly #secretUses = new Map<string, SecretUse>()
  #maxThreads: number | null = null
  #hasPlaceholders = false

  constructor(options: RenderingOptions) {
    this.#options = options
  }

  /** Whether a template was given the value of a secret, which may not be shown. */
  get hasSecrets(): boolean {
    return this.#secretUses.size > 0
  }

  /** The most threads that one of the texts asks for; null when none does. */
  get maxThreads(): number | null {
    return this.#maxThreads
  }

  /** Whether values in the texts may stand for others, because they were rendered to be checked. */
  get hasPlaceholders(): boolean {
    return this.#hasPlaceholders
  }

  /** What is fixed for the caller's own text, and for the pipe that it enters. */
  get fixed(): FixedValues {
    return this.#options.fixed ?? nothingFixed
  }

  /** The same with a stand-in for each secret, and what one of its texts is in it. Raises what `render` does. */
  withStandIn(standIn: string, text: string): { readonly rendering: Rendering; readonly text: string } {
    const rendering = new Rendering({ ...this.#options, again: { of: this, standIn } })
    const written = this.#secretTexts.get(text)
    return { rendering, text: written === undefined ? text : rendering.render(written.source, written.rights).text }
  }

  /** Names of values that were given, and that neither the texts until now nor `others` have a parameter for. */
  unusedParameters(others: () => readonly string[]): readonly string[] {
    const { parameters, templates } = this.#options
    const names = [...parameters.keys()].filter((name) => !this.#templates.some((template) => isUsed(name, template)))
    if (names.length === 0) return names
    // Nodes that were not read this time may be read with other values.
    try {
      const known = others().map((sql) => templates.compile(sql))
      return names.filter((name) => !known.some((template) => isUsed(name, template)))
    } catch (thrown) {
      // A node that is no template any more does not spoil the answer of one that is.
      if (thrown instanceof ApiError) return []
      throw thrown
    }
  }

  /** Names of the parameters of the texts until now, for advice. */
  get parameterNames(): readonly string[] {
    return this.#templates.flatMap((template) => template.parameters.map(({ name }) => name))
  }

  /** The SQL of a node. Raises TEMPLATE_INVALID (400). */
  nodeText(node: RenderedNode, fixed = this.fixed): string {
    return this.node(node, fixed).text
  }

  /** The SQL of a node with what it asks for. Raises TEMPLATE_INVALID (400). */
  node({ id, sql }: RenderedNode, fixed = this.fixed): RenderedText {
    const key = `${id}${fixed.key}`
    const kept = this.#texts.get(key)
    if (kept !== undefined) return kept
    const rendered = this.render(sql, { maySecrets: true, fixed })
    this.#texts.set(key, rendered)
    return rendered
  }

  /**
   * The SQL of a text that is no node. Raises TEMPLATE_INVALID (400), also for a secret in a text that may
   * use none, and SQL_INVALID (400) for one that would show in the result.
   */
  render(source: string, { maySecrets, fixed = this.fixed }: TextRights): RenderedText {
    const { templates, mode, again } = this.#options
    const template = templates.compile(source)
    if (!template.isTemplated) return { text: source, cacheTtlSeconds: null }
    this.#templates.push(template)
    const written = { source, rights: { maySecrets, fixed } }
    const known = again === undefined ? undefined : again.of.#secretUses.get(keyOf(written))
    const use = known ?? this.#createUse(template, written.rights)
    try {
      const rendered = again === undefined ? use.render() : use.renderWith(again.standIn)
      const { settings } = rendered
      const { text, secretSpans } = withoutSecretParameters(rendered.sql, rendered.secretSpans)
      checkSecretPlaces(text, secretSpans)
      this.#note(settings)
      if (again === undefined && use.hasSecrets) this.#secretTexts.set(text, written)
      const hasUnknown = secretSpans.length > 0 || template.parameters.some((parameter) => parameter.default === null)
      this.#hasPlaceholders ||= mode === 'check' && hasUnknown
      return { text, cacheTtlSeconds: settings.cacheTtlSeconds }
    } catch (thrown) {
      const isToldAgain = again === undefined && thrown instanceof TemplateError
      throw toTemplateFailure(isToldAgain ? use.failureOf(thrown) : thrown, () => this.#misspelt(template))
    } finally {
      if (again === undefined && use.hasSecrets) this.#secretUses.set(keyOf(written), use)
    }
  }

  #createUse(template: Template, { maySecrets, fixed }: Required<TextRights>): SecretUse {
    const { mode, jobTimestamp, decide, secretOf } = this.#options
    return new SecretUse({
      template,
      values: this.#valuesWith(fixed),
      context: { mode, secretsAs: 'literals', decide, jobTimestamp },
      secretOf: maySecrets ? secretOf : noSecret,
    })
  }

  #valuesWith({ values }: FixedValues): ParameterValues {
    const { parameters } = this.#options
    return values.size === 0 ? parameters : new Map([...parameters, ...values])
  }

  /** The parameter that was given in the place of one that is missing. */
  #misspelt({ parameters }: Template): string | undefined {
    const given = this.#options.parameters
    const missing = parameters.map(({ name }) => name).filter((name) => !given.has(name))
    for (const name of this.unusedParameters(() => []).slice(0, misspeltMax)) {
      const near = nearestName(name, missing)
      if (near !== undefined) return `Did you mean '${near}' instead of '${name}'?`
    }
    return undefined
  }

  #note({ maxThreads }: TemplateSettings): void {
    if (maxThreads !== null) this.#maxThreads = Math.max(this.#maxThreads ?? 0, maxThreads)
  }
}

const noSecret = (): undefined => undefined

/** More names are no slips of the pen. */
const misspeltMax = 20

function isUsed(name: string, { parameters }: Template): boolean {
  return parameters.some((parameter) => parameter.name === name)
}

interface TextRights {
  readonly maySecrets: boolean
  readonly fixed?: FixedValues
}

interface Written {
  readonly source: string
  readonly rights: Required<TextRights>
}

function keyOf({ source, rights: { fixed } }: Written): string {
  return `${fixed.key} ${source}`
}

interface RenderedNode {
  readonly id: string
  readonly sql: string
}

export interface RenderedText {
  readonly text: string
  /** For how long its answer may be kept; null when it does not say so. */
  readonly cacheTtlSeconds: number | null
}

/** A check prints secrets as parameters of a query, of which the engine in this process knows none. */
function withoutSecretParameters(sql: string, secretSpans: readonly TextSpan[]): CheckedText {
  let text = ''
  let end = 0
  const spans: TextSpan[] = []
  for (const span of secretSpans) {
    const isParameter = sql.charAt(span.start) === '{'
    text += sql.slice(end, span.start)
    const start = text.length
    text += isParameter ? "''" : sql.slice(span.start, span.end)
    spans.push({ start, end: text.length })
    end = span.end
  }
  return { text: text + sql.slice(end), secretSpans: spans }
}

interface CheckedText {
  readonly text: string
  readonly secretSpans: readonly TextSpan[]
}
