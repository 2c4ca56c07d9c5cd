import type { ParameterValue, RenderContext, TemplateSettings } from '../template/template.types.ts'
import type { TemplateCache } from './template-cache.ts'
import { toTemplateFailure } from './template-failure.ts'

export type ParameterValues = ReadonlyMap<string, ParameterValue>

export interface RenderingOptions {
  readonly templates: TemplateCache
  /** Shared by all nodes of a pipe, and by the pipes that it reads. */
  readonly parameters: ParameterValues
  readonly mode: RenderContext['mode']
  /** The value of a secret; undefined when there is none. */
  readonly secretOf: (name: string) => string | undefined
}

/** The texts of one query: each is rendered when it is first asked for, and once. */
export class Rendering {
  readonly #options: RenderingOptions
  readonly #texts = new Map<string, RenderedText>()
  readonly #secretValues = new Set<string>()
  #maxThreads: number | null = null
  #hasPlaceholders = false

  constructor(options: RenderingOptions) {
    this.#options = options
  }

  /** Values of the secrets that stand in the texts: none of them may be shown. */
  get secretValues(): ReadonlySet<string> {
    return this.#secretValues
  }

  /** The most threads that one of the texts asks for; null when none does. */
  get maxThreads(): number | null {
    return this.#maxThreads
  }

  /** Whether values in the texts may stand for others, because they were rendered to be checked. */
  get hasPlaceholders(): boolean {
    return this.#hasPlaceholders
  }

  /** The SQL of a node. Raises TEMPLATE_INVALID (400). */
  nodeText(node: RenderedNode): string {
    return this.node(node).text
  }

  /** The SQL of a node with what it asks for. Raises TEMPLATE_INVALID (400). */
  node({ id, sql }: RenderedNode): RenderedText {
    const kept = this.#texts.get(id)
    if (kept !== undefined) return kept
    const rendered = this.render(sql, { maySecrets: true })
    this.#texts.set(id, rendered)
    return rendered
  }

  /** The SQL of a text that is no node. Raises TEMPLATE_INVALID (400), also for a secret in a text that may use none. */
  render(source: string, { maySecrets }: { readonly maySecrets: boolean }): RenderedText {
    const { templates, parameters, mode } = this.#options
    const template = templates.compile(source)
    if (!template.isTemplated) return { text: source, cacheTtlSeconds: null }
    const secret = (name: string): string | undefined => (maySecrets ? this.#secret(name) : undefined)
    try {
      const { sql, settings } = template.render(parameters, { mode, secret, secretsAs: 'literals' })
      this.#note(settings)
      this.#hasPlaceholders ||= mode === 'check' && template.parameters.some((parameter) => parameter.default === null)
      const text = mode === 'check' ? withoutSecretParameters(sql, template.secretNames) : sql
      return { text, cacheTtlSeconds: settings.cacheTtlSeconds }
    } catch (thrown) {
      throw toTemplateFailure(thrown)
    }
  }

  #secret(name: string): string | undefined {
    const value = this.#options.secretOf(name)
    if (value !== undefined) this.#secretValues.add(value)
    return value
  }

  #note({ maxThreads }: TemplateSettings): void {
    if (maxThreads !== null) this.#maxThreads = Math.max(this.#maxThreads ?? 0, maxThreads)
  }
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
function withoutSecretParameters(sql: string, names: readonly string[]): string {
  if (names.length === 0) return sql
  return sql.replaceAll(/\{([A-Za-z_]\w*): String\}/g, (parameter, name: string) =>
    names.includes(name) ? "''" : parameter,
  )
}
