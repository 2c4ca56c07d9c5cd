import type { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import { readOutputSettings } from '../../query/allowed-output-settings.ts'
import { readJsonParameters } from '../../query/json-parameters.ts'
import type { ParameterValues } from '../../query/rendering.ts'
import { errors } from '../../shared/errors/errors.ts'
import type { FormLimits } from '../http.types.ts'
import { type Field, type MultipartLimits, openMultipart } from './multipart-form.ts'
import { arrivingBodyOf } from './request-body.ts'
import { boundedJson, parseForm, readForm } from './whole-form.ts'

type Values = Map<string, ParameterValues extends ReadonlyMap<string, infer Value> ? Value : never>

/** What a request asks: parameters from the URL and the body together, and a query if the body is one. */
export class Question {
  readonly #values: Values

  constructor(values: Values) {
    this.#values = values
  }

  /** The value without white space around it, of a list the last one; undefined when nothing is left of it. */
  text(name: string): string | undefined {
    const value = this.#values.get(name)
    const last: unknown = Array.isArray(value) ? value.at(-1) : value
    if (last === undefined || last === null || typeof last === 'object') return undefined
    const text = (typeof last === 'boolean' ? String(Number(last)) : String(last)).trim()
    return text === '' ? undefined : text
  }

  /** Every value of a name, of a list each of its texts. */
  texts(name: string): readonly string[] {
    const value: unknown = this.#values.get(name)
    const all: readonly unknown[] = value === undefined ? [] : [value].flat()
    return all.filter((one) => typeof one === 'string')
  }

  /** The query as it was sent, blank lines before it included, as errors count them; undefined when there is none. */
  get sql(): string | undefined {
    const value = this.#values.get('q')
    const last: unknown = Array.isArray(value) ? value.at(-1) : value
    return typeof last === 'string' && last.trim() !== '' ? last : undefined
  }

  /** Values for templates; the query, the token and receipts are none. */
  get parameters(): ParameterValues {
    const values = new Map(this.#values)
    for (const name of notForTemplates) values.delete(name)
    return values
  }

  get settings(): Readonly<Record<string, number>> {
    return readOutputSettings((name) => this.text(name))
  }
}

const notForTemplates = ['q', 'token', 'wait_until'] as const

/**
 * Reads a request to the end of its body. What the body says goes before what the URL says.
 *
 * The body's first characters tell what it is, as clients send every kind of body under every Content-Type: no SELECT
 * begins with `{` or with a name before `=`. Clients cut long URLs in two, so both are read together.
 *
 * @throws BODY_CORRUPT, REQUEST_INVALID, FIELDS_TOO_MANY (400), PAYLOAD_TOO_LARGE (413), BODIES_TOO_MANY (503), and
 *   what the body fails with.
 */
export async function readQuestion(request: FastifyRequest, limits: FormLimits): Promise<Question> {
  const values = urlValues(request.query)
  request.sentParameters = () => values.keys()
  const arriving = arrivingBodyOf(request)
  if (arriving === undefined) return new Question(values)
  const mediaType = request.sentContentType?.trim() ?? ''
  if (/^multipart\/form-data\b.*\bboundary=/i.test(mediaType)) {
    const fields = await readFields(arriving.stream(), mediaType, { ...limits, hold: limits.bodies.holdFor(request) })
    for (const [name, value] of collected(fields)) values.set(name, value)
    return new Question(values)
  }
  const sent = (await readForm(request, limits)).toString()
  const text = sent.trim()
  if (text.startsWith('{')) {
    for (const [name, value] of readJsonParameters(boundedJson(text))) values.set(name, value)
  } else if (/^[\w%][\w.%[\]-]*=/.test(text)) {
    for (const [name, value] of collected(parseForm(text))) values.set(name, value)
  } else if (text !== '') {
    if (values.has('q')) {
      throw errors.REQUEST_INVALID({ reason: 'there is a query in the parameter "q" and another one in the body' })
    }
    // Blank lines before it count where errors tell a line; what follows it does not.
    values.set('q', sent.trimEnd())
  }
  return new Question(values)
}

/** Fastify's parser gives a text for each name, or a list of them when it is repeated. */
function urlValues(query: unknown): Values {
  const values: Values = new Map()
  for (const [name, value] of Object.entries(query ?? {})) {
    const texts: readonly unknown[] = Array.isArray(value) ? value : [value]
    const read = texts.filter((text) => typeof text === 'string')
    const [only] = read
    if (only !== undefined) values.set(name, read.length === 1 ? only : read)
  }
  return values
}

async function readFields(body: Readable, mediaType: string, limits: MultipartLimits): Promise<readonly Field[]> {
  const form = await openMultipart(body, mediaType, limits)
  if (form.file !== null)
    throw errors.REQUEST_INVALID({ reason: 'there is a file in the form, which is not used here' })
  return form.fields
}

/** The values by name: a text, or a list of texts when the name is repeated. */
function collected(fields: Iterable<Field>): Values {
  const lists = new Map<string, string[]>()
  // One pass, as a form may have as many names as it has characters.
  for (const [name, value] of fields) {
    const list = lists.get(name)
    if (list === undefined) lists.set(name, [value])
    else list.push(value)
  }
  const values: Values = new Map()
  for (const [name, list] of lists) {
    const [only = ''] = list
    values.set(name, list.length === 1 ? only : list)
  }
  return values
}
