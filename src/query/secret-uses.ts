// Values of secrets are in no error. What a template makes of one, such as capitals, parts or a number, cannot be found by the value. So a
// template is rendered again with a stand-in for each secret: an error of that has none of them, and words of the text that differ may be
// made of them.

import { quoteText } from '../template/sql-escapes.ts'
import type { ParameterValue, RenderContext, RenderedTemplate, Template } from '../template/template.types.ts'
import { TemplateError, templateFault } from '../template/template-error.ts'
import { maskSecrets } from './message-names.ts'

/** What functions take: a text, a number, a date, a time, an object. The first is shown where a value would be. */
const standIns: readonly string[] = ['***', '0', '2000-01-01', '2000-01-01 00:00:00', '{}']

interface Rendered {
  readonly template: Template
  readonly source: string
  readonly values: ReadonlyMap<string, ParameterValue>
  readonly context: Omit<RenderContext, 'secret'>
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
      const words = use.derivedWords()
      if (words === null || words.some((word) => message.includes(word))) return null
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
    this.#result = template.render(values, { ...context, secret })
    return this.#result
  }

  /** What may be told of an error of `render`: what the template says with stand-ins, if it fails at the same place then. */
  failureOf(thrown: TemplateError): TemplateError {
    if (this.secrets.size === 0) return thrown
    const { line, column } = thrown
    for (const again of this.#renderings()) {
      if (again instanceof TemplateError && again.line === line && again.column === column) return again
    }
    const reason = `the template fails by the value of a secret, so no more is told of it, line ${line}`
    return new TemplateError(templateFault(reason), { cause: undefined, place: { line, column } })
  }

  /** Words of the text that may be made of secrets, and are not written in the template; null when that is not known. */
  derivedWords(): readonly string[] | null {
    if (this.secrets.size === 0 || this.#result === null) return []
    for (const again of this.#renderings()) {
      if (again instanceof TemplateError) continue
      const known = new Set([...wordsOf(bareText(again)), ...wordsOf(this.#rendered.source)])
      return wordsOf(bareText(this.#result)).filter((word) => !known.has(word))
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

  *#renderings(): Generator<RenderedTemplate | TemplateError> {
    const { template, values, context, secretOf } = this.#rendered
    for (const standIn of standIns) {
      if (this.secrets.has(standIn)) continue
      const secret = (name: string): string | undefined => (secretOf(name) === undefined ? undefined : standIn)
      yield renderedOr(() => template.render(values, { ...context, secret }))
    }
  }
}

function renderedOr(render: () => RenderedTemplate): RenderedTemplate | TemplateError {
  try {
    return render()
  } catch (thrown) {
    if (thrown instanceof TemplateError) return thrown
    throw thrown
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

function wordsOf(text: string): readonly string[] {
  return text.match(/[\p{L}\p{N}_]+/gu) ?? []
}
