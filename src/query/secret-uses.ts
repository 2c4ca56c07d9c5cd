// Values of secrets are in no error. What a template makes of one, such as capitals, parts or a number, cannot be found by the value. So a
// template is rendered again with a stand-in for each secret: an error of that has none of them, and words of the text that differ may be
// made of them.

import { quoteText } from '../template/sql-escapes.ts'
import type { ParameterValue, RenderContext, RenderedTemplate, Template } from '../template/template.types.ts'
import { TemplateError, templateFault } from '../template/template-error.ts'
import { maskSecrets } from './message-names.ts'

/** Shown where a value would be. */
export const hiddenSecret = '***'
/** What functions take: a text, a number, a date, a time, an object. */
export const shownStandIns: readonly string[] = [hiddenSecret, '0', '2000-01-01', '2000-01-01 00:00:00', '{}']
/** The same for texts that are compared, word by word: the first is one word. */
const standIns: readonly string[] = ['secret', ...shownStandIns.slice(1)]

interface Rendered {
  readonly template: Template
  readonly source: string
  readonly values: ReadonlyMap<string, ParameterValue>
  readonly context: Pick<RenderContext, 'decide' | 'jobTimestamp' | 'mode' | 'secretsAs'>
  readonly secretOf: (name: string) => string | undefined
}

/** The secrets of one query's texts. */
export class SecretUses {
  readonly #uses: SecretUse[] = []

  /** Whether no secret was given to any text. */
  get isEmpty(): boolean {
    return this.#uses.every(({ secrets }) => secrets.size === 0)
  }

  /** A template that is rendered for the query. */
  add(rendered: Rendered): SecretUse {
    const use = new SecretUse(rendered)
    this.#uses.push(use)
    return use
  }

  /** A message without the values of secrets; null when it may have something that was made of one. */
  without(message: string): string | null {
    let told = message
    for (const use of this.#uses) {
      const derived = use.derivedWords()
      if (derived === null || maskSecrets(message, derived) !== message) return null
      told = maskSecrets(told, use.forms())
    }
    return told
  }
}

/** One template with its values. */
export class SecretUse {
  /** Values that the template was given. */
  readonly secrets = new Set<string>()
  readonly #rendered: Rendered
  #result: RenderedTemplate | null = null

  constructor(rendered: Rendered) {
    this.#rendered = rendered
  }

  /** @throws TemplateError, which may have values of secrets: see `failureOf`. */
  render(): RenderedTemplate {
    const { template, values, context, secretOf } = this.#rendered
    const secret = (name: string): string | undefined => {
      const value = secretOf(name)
      if (value !== undefined) this.secrets.add(value)
      return value
    }
    const { mode, secretsAs, decide, jobTimestamp } = context
    // Each request comes here, and an object that is spread into another one costs a microsecond and a hidden class.
    this.#result = template.render(values, { mode, secretsAs, decide, jobTimestamp, secret })
    return this.#result
  }

  /** What may be told of an error of `render`: what the template says with stand-ins, if it fails at the same place then. */
  failureOf(thrown: TemplateError): TemplateError {
    if (this.secrets.size === 0) return thrown
    const { line, column } = thrown
    for (const again of this.#renderings(shownStandIns)) {
      if (again instanceof TemplateError && again.line === line && again.column === column) return again
    }
    const reason = `the template fails by the value of a secret, so no more is told of it, line ${line}`
    return new TemplateError(templateFault(reason), { cause: undefined, place: { line, column } })
  }

  /** Words of the text that may be made of secrets, and are not written in the template; null when they are not known, or are no words. */
  derivedWords(): ReadonlySet<string> | null {
    if (this.secrets.size === 0 || this.#result === null) return new Set()
    for (const again of this.#renderings(standIns)) {
      if (again instanceof TemplateError) continue
      const known = new Set([...piecesOf(bareText(again)), ...piecesOf(this.#rendered.source)])
      const derived = piecesOf(bareText(this.#result)).filter((piece) => !known.has(piece))
      return derived.every((piece) => isWord.test(piece)) ? new Set(derived) : null
    }
    return null
  }

  /** The secrets as they are, and as they stand in literals and in literals that are quoted again. */
  forms(): ReadonlySet<string> {
    const forms = [...this.secrets].flatMap((value) => {
      const literal = quoteText(value).slice(1, -1)
      return [quoteText(literal).slice(1, -1), literal, value]
    })
    return new Set(forms)
  }

  *#renderings(values: readonly string[]): Generator<RenderedTemplate | TemplateError> {
    const conditions = this.#conditions()
    for (const value of values) {
      if (this.secrets.has(value)) continue
      const left = conditions.values()
      yield this.#renderAgain((name) => (this.#rendered.secretOf(name) === undefined ? undefined : value), {
        nextCondition: () => left.next().value,
      })
    }
  }

  /** What conditions came to: with stand-ins they come to the same, as people write them to tell who knows the secret. */
  #conditions(): readonly boolean[] {
    const conditions: boolean[] = []
    this.#renderAgain(this.#rendered.secretOf, { onCondition: (isMet) => void conditions.push(isMet) })
    return conditions
  }

  #renderAgain(
    secret: RenderContext['secret'],
    hooks: Pick<RenderContext, 'nextCondition' | 'onCondition'>,
  ): RenderedTemplate | TemplateError {
    const { template, values, context } = this.#rendered
    try {
      return template.render(values, { ...context, ...hooks, secret })
    } catch (thrown) {
      if (thrown instanceof TemplateError) return thrown
      throw thrown
    }
  }
}

/** A text without the literals of its secrets. */
function bareText({ sql, secretSpans }: RenderedTemplate): string {
  let bare = ''
  let end = 0
  for (const span of secretSpans) {
    bare += `${sql.slice(end, span.start)} `
    end = span.end
  }
  return bare + sql.slice(end)
}

const isWord = /^[\p{L}\p{N}_]/u

/** Its words, and what stands between them but blanks. */
function piecesOf(text: string): readonly string[] {
  return text.match(/[\p{L}\p{N}_]+|[^\p{L}\p{N}_\s]+/gu) ?? []
}
