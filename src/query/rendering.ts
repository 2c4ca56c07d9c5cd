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
  readonly #texts = new Map<string, string>()
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

  /**
   * The SQL of a node.
   *
   * @throws TEMPLATE_INVALID (400).
   */
  nodeText(node: { readonly id: string; readonly sql: string }): string {
    const rendered = this.#texts.get(node.id)
    if (rendered !== undefined) return rendered
    const { sql } = this.render(node.sql, { maySecrets: true })
    this.#texts.set(node.id, sql)
    return sql
  }

  /**
   * The SQL of a text that is no node.
   *
   * @throws TEMPLATE_INVALID (400), also for a secret in a text that may use none.
   */
  render(source: string, { maySecrets }: { readonly maySecrets: boolean }): RenderedText {
    const { templates, parameters, mode } = this.#options
    const template = templates.compile(source)
    if (!template.isTemplated) return { sql: source, settings: null }
    const secret = (name: string): string | undefined => (maySecrets ? this.#secret(name) : undefined)
    try {
      const { sql, settings } = template.render(parameters, { mode, secret, secretsAs: 'literals' })
      this.#note(settings)
      this.#hasPlaceholders ||= mode === 'check' && template.parameters.some((parameter) => parameter.default === null)
      return { sql: mode === 'check' ? withoutSecretParameters(sql, template.secretNames) : sql, settings }
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

export interface RenderedText {
  readonly sql: string
  /** Null for a text that is no template. */
  readonly settings: TemplateSettings | null
}

/** A check prints secrets as parameters of a query, of which the engine in this process knows none. */
function withoutSecretParameters(sql: string, names: readonly string[]): string {
  if (names.length === 0) return sql
  return sql.replaceAll(/\{([A-Za-z_]\w*): String\}/g, (parameter, name: string) =>
    names.includes(name) ? "''" : parameter,
  )
}
