// Values of secrets are in no error. What a template makes of one, such as capitals, parts or a number, cannot be found by the value, and a
// mask over what is found tells whoever guesses that he guessed right. So what fails is tried again with a stand-in for each secret, and what
// is said of that is told: it has none of them.

import type { ParameterValue, RenderContext, RenderedTemplate, Template } from '../template/template.types.ts'
import { TemplateError, templateFault } from '../template/template-error.ts'

/** Shown where a value would be. */
export const hiddenSecret = '***'
/** What functions take: a text, a number, a date, a time, an object, a UUID, an address. */
export const standIns: readonly string[] = [
  ...[hiddenSecret, '0', '2000-01-01', '2000-01-01 00:00:00', '{}'],
  ...['00000000-0000-0000-0000-000000000000', '127.0.0.1'],
]

/** Each is tried in the thread that serves all requests, and a template may take long. */
const triesMsMax = 250

/** The first of them, and others as long as there is time. */
export function* standInsInTime(): Generator<string> {
  const endMs = performance.now() + triesMsMax
  for (const standIn of standIns) {
    yield standIn
    if (performance.now() >= endMs) return
  }
}

/** What a condition came to, and where it stands in the template. */
interface Condition {
  readonly isMet: boolean
  readonly offset: number
}

interface Rendered {
  readonly template: Template
  readonly values: ReadonlyMap<string, ParameterValue>
  readonly context: Pick<RenderContext, 'decide' | 'jobTimestamp' | 'mode' | 'secretsAs'>
  readonly secretOf: (name: string) => string | undefined
}

/** One template with its values. */
export class SecretUse {
  readonly #rendered: Rendered
  #hasSecrets = false
  /** What conditions came to, once that is asked for. */
  #conditions: readonly Condition[] | undefined

  constructor(rendered: Rendered) {
    this.#rendered = rendered
  }

  /** Whether the template was given a secret. */
  get hasSecrets(): boolean {
    return this.#hasSecrets
  }

  /** @throws TemplateError, which may have values of secrets: see `failureOf`. */
  render(): RenderedTemplate {
    const { template, values, context, secretOf } = this.#rendered
    const secret = (name: string): string | undefined => {
      const value = secretOf(name)
      this.#hasSecrets ||= value !== undefined
      return value
    }
    const { mode, secretsAs, decide, jobTimestamp } = context
    // Each request comes here, and an object that is spread into another one costs a microsecond and a hidden class.
    return template.render(values, { mode, secretsAs, decide, jobTimestamp, secret })
  }

  /**
   * The same with a stand-in for each secret. Conditions come to what they came to, as people write them to tell who knows the secret.
   *
   * @throws TemplateError also where others are met than before, as in a loop over a secret that is longer.
   */
  renderWith(standIn: string): RenderedTemplate {
    const { secretOf } = this.#rendered
    this.#conditions ??= this.#lookAtConditions()
    const left = this.#conditions.values()
    return this.#renderAgain((name) => (secretOf(name) === undefined ? undefined : standIn), {
      nextCondition(offset) {
        const next = left.next().value
        if (next !== undefined && next.offset !== offset) throw atOtherCondition
        return next?.isMet
      },
    })
  }

  /** What may be told of an error of `render`: what the template says with stand-ins, if it fails at the same place then. */
  failureOf(thrown: TemplateError): TemplateError {
    if (!this.#hasSecrets) return thrown
    const { line, column } = thrown
    for (const standIn of standInsInTime()) {
      const again = templateErrorOf(() => this.renderWith(standIn))
      if (again?.line === line && again.column === column) return again
    }
    const reason = `the template fails by the value of a secret, so no more is told of it, line ${line}`
    return new TemplateError(templateFault(reason), { cause: undefined, place: { line, column } })
  }

  #lookAtConditions(): readonly Condition[] {
    const conditions: Condition[] = []
    const onCondition = (isMet: boolean, offset: number): void => void conditions.push({ isMet, offset })
    // It may fail as it did before; what came until then is there.
    templateErrorOf(() => this.#renderAgain(this.#rendered.secretOf, { onCondition }))
    return conditions
  }

  #renderAgain(
    secret: RenderContext['secret'],
    hooks: Pick<RenderContext, 'nextCondition' | 'onCondition'>,
  ): RenderedTemplate {
    const { template, values, context } = this.#rendered
    return template.render(values, { ...context, ...hooks, secret })
  }
}

/** Of no place of a template, so that nobody is told it. */
const atOtherCondition = new TemplateError(templateFault('conditions differ with a stand-in'), {
  cause: undefined,
  place: { line: 0, column: 0 },
})

function templateErrorOf(render: () => unknown): TemplateError | null {
  try {
    render()
    return null
  } catch (thrown) {
    if (thrown instanceof TemplateError) return thrown
    throw thrown
  }
}
