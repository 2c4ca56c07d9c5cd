import type { ParameterValue } from './template.types.ts'

/** What the wrong place answers: the message alone, or an object of the template's author. */
export interface TemplateAnswer {
  readonly status: number
  readonly body: { readonly [key: string]: ParameterValue }
}

interface TextPlace {
  readonly line: number
  readonly column: number
}

interface ErrorOrigin {
  readonly cause: unknown
  readonly place: TextPlace
}

/** A template, or what it was given, is wrong. The message is what the caller reads, prefix included. */
export class TemplateError extends Error {
  override readonly name = 'TemplateError'
  /** Both count from 1; columns are UTF-16 units. */
  readonly line: number
  readonly column: number
  /** Path below the documentation's address; null for `error()` and `custom_error()`, whose body is the author's own. */
  readonly documentation: string | null
  /** Status, and the body without the documentation. */
  readonly answer: TemplateAnswer
  /** What to do, in a field beside the message; undefined for nothing. */
  readonly hint: string | undefined

  constructor(fault: TemplateFault, { cause, place }: ErrorOrigin) {
    super(fault.message, { cause })
    this.line = place.line
    this.column = place.column
    this.answer = fault.answer ?? { status: 400, body: { error: fault.message } }
    this.hint = fault.hint
    this.documentation = fault.answer === null ? `/cli/advanced-templates.html${fault.anchor}` : null
  }
}

interface FaultOptions {
  readonly offset?: number
  readonly answer?: TemplateAnswer
  /** `{% try %}` does not catch it. */
  readonly isFinal?: boolean
  /** The section of the documentation, with its `#`. */
  readonly anchor?: string
  readonly hint?: string | undefined
}

/** The same inside this room, where only an offset is known, or none: then it is that of the running expression. */
export class TemplateFault extends Error {
  override readonly name = 'TemplateFault'
  /** In UTF-16 units of the source; null when the one who threw did not know. */
  readonly offset: number | null
  readonly answer: TemplateAnswer | null
  readonly isFinal: boolean
  /** Empty for the page as a whole. */
  readonly anchor: string
  readonly hint: string | undefined

  constructor(message: string, options: FaultOptions = {}) {
    super(message)
    this.offset = options.offset ?? null
    this.answer = options.answer ?? null
    this.isFinal = options.isFinal ?? false
    this.anchor = options.anchor ?? ''
    this.hint = options.hint
  }

  /** The same fault with advice. */
  withHint(hint: string | undefined): TemplateFault {
    const { message, answer, isFinal, anchor } = this
    const offset = this.offset === null ? {} : { offset: this.offset }
    return new TemplateFault(message, { ...offset, ...(answer === null ? {} : { answer }), isFinal, anchor, hint })
  }
}

/** A wrong expression, value or call: `Template Syntax Error: …`. */
export function templateFault(reason: string, offset?: number): TemplateFault {
  return new TemplateFault(`Template Syntax Error: ${reason}`, offset === undefined ? {} : { offset })
}

/** The same for a function with a section of its own in the documentation, `#columns`. */
export function documentedFault(reason: string, anchor: string): TemplateFault {
  return new TemplateFault(`Template Syntax Error: ${reason}`, { anchor })
}

/** The refusal of what is called and is no function, or is looked up by what cannot be looked up. */
export function notCallableFault(offset?: number): TemplateFault {
  return templateFault('wrong syntax, you might be using a not valid function inside a control block', offset)
}

/** A text that is no template: `Syntax error: …`. */
export function syntaxFault(reason: string, offset: number): TemplateFault {
  return new TemplateFault(`Syntax error: ${reason}`, { offset })
}

/** One of the maxima is passed; no `{% try %}` catches this. */
export function limitFault(reason: string, offset?: number): TemplateFault {
  const place = offset === undefined ? {} : { offset }
  return new TemplateFault(`Template Syntax Error: ${reason}`, { ...place, isFinal: true })
}

/** Line and column of an offset, from 1. */
export function placeOf(source: string, offset: number): TextPlace {
  const before = source.slice(0, offset)
  return { line: before.split('\n').length, column: offset - before.lastIndexOf('\n') }
}
