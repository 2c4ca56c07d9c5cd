// The structural rules of OpenAPI 3.0.3, as far as our documents go: which fields an object may and must have, that
// references lead somewhere, that names are unique, and that defaults, examples and choices are values of their schemas.

type Json = Readonly<Record<string, unknown>>

/** What is wrong with the document, each with its place. */
export function openApiFaults(document: unknown): readonly string[] {
  const faults: string[] = []
  new Checker(document, faults).check()
  return faults
}

const httpMethods = ['get', 'post']
const schemaTypes = ['string', 'number', 'integer', 'boolean', 'array', 'object']
const schemaFields =
  `type format items properties required additionalProperties enum default example description nullable
  minimum minItems maxItems $ref`.split(/\s+/)

class Checker {
  readonly #document: unknown
  readonly #faults: string[]
  readonly #operationIds = new Set<string>()

  constructor(document: unknown, faults: string[]) {
    this.#document = document
    this.#faults = faults
  }

  check(): void {
    const root = this.#object(this.#document, '#', {
      must: ['openapi', 'info', 'paths'],
      may: ['servers', 'security', 'components'],
    })
    if (!/^3\.0\.\d+$/.test(String(root['openapi']))) this.#fault('#/openapi', 'is no version 3.0')
    const info = this.#object(root['info'], '#/info', { must: ['title', 'version'], may: ['description'] })
    for (const name of Object.keys(info)) this.#text(info[name], `#/info/${name}`)
    for (const [index, server] of this.#array(root['servers'], '#/servers').entries()) {
      const { url } = this.#object(server, `#/servers/${index}`, { must: ['url'], may: ['description'] })
      if (!URL.canParse(String(url))) this.#fault(`#/servers/${index}/url`, 'is no address')
    }
    this.#checkComponents(root['components'])
    this.#checkSecurity(root['security'], root['components'])
    const paths = this.#entries(root['paths'], '#/paths')
    for (const [path, item] of paths) this.#checkPath(path, item)
    const templates = paths.map(([path]) => path.replaceAll(/\{[^}]*\}/g, '{}'))
    if (new Set(templates).size < templates.length)
      this.#fault('#/paths', 'has two paths that are the same but for names')
  }

  #checkComponents(value: unknown): void {
    const components = this.#object(value, '#/components', {
      must: [],
      may: ['schemas', 'responses', 'securitySchemes'],
    })
    for (const [name, entries] of Object.entries(components)) {
      for (const key of Object.keys(entries as Json)) {
        if (!/^[A-Za-z0-9._-]+$/.test(key)) this.#fault(`#/components/${name}/${key}`, 'has a name that none may have')
      }
    }
    for (const [name, schema] of this.#entries(components['schemas'], '#/components/schemas')) {
      this.#checkSchema(schema, `#/components/schemas/${name}`)
    }
    for (const [name, response] of this.#entries(components['responses'], '#/components/responses')) {
      this.#checkResponse(response, `#/components/responses/${name}`)
    }
  }

  #checkSecurity(value: unknown, components: unknown): void {
    const schemes = (components as Json)['securitySchemes'] as Json
    for (const [index, requirement] of this.#array(value, '#/security').entries()) {
      for (const [name, scopes] of this.#entries(requirement, `#/security/${index}`)) {
        if (!Object.hasOwn(schemes, name)) this.#fault(`#/security/${index}`, `names no scheme: ${name}`)
        this.#array(scopes, `#/security/${index}/${name}`)
      }
    }
    for (const [name, scheme] of this.#entries(schemes, '#/components/securitySchemes')) {
      const place = `#/components/securitySchemes/${name}`
      const isKey = (scheme as Json)['type'] === 'apiKey'
      this.#object(scheme, place, { must: isKey ? ['type', 'in', 'name'] : ['type', 'scheme'], may: [] })
    }
  }

  #checkPath(path: string, value: unknown): void {
    const place = `#/paths/${path}`
    if (!path.startsWith('/')) this.#fault(place, 'does not begin with a slash')
    const item = this.#object(value, place, { must: [], may: ['parameters', ...httpMethods] })
    const shared = this.#checkParameters(item['parameters'], `${place}/parameters`)
    for (const method of httpMethods) {
      if (item[method] === undefined) continue
      const operation = this.#object(item[method], `${place}/${method}`, {
        must: ['responses'],
        may: ['operationId', 'summary', 'description', 'tags', 'parameters', 'requestBody'],
      })
      this.#checkOperation(operation, `${place}/${method}`)
      const own = this.#checkParameters(operation['parameters'], `${place}/${method}/parameters`)
      const inPath = [...shared, ...own].filter((key) => key.startsWith('path ')).toSorted()
      const named = Array.from(path.matchAll(/\{([^}]*)\}/g), ([, name]) => `path ${name}`).toSorted()
      if (inPath.join() !== named.join()) this.#fault(place, 'has other path parameters than names in braces')
    }
  }

  #checkOperation(operation: Json, place: string): void {
    const id = String(operation['operationId'])
    if (this.#operationIds.has(id)) this.#fault(place, `has the operationId of another operation: ${id}`)
    this.#operationIds.add(id)
    for (const [status, response] of this.#entries(operation['responses'], `${place}/responses`)) {
      if (!/^(?:[1-5]\d\d|[1-5]XX|default)$/.test(status)) this.#fault(`${place}/responses`, `has no status: ${status}`)
      this.#checkResponse(response, `${place}/responses/${status}`)
    }
    if (operation['requestBody'] === undefined) return
    const bodyPlace = `${place}/requestBody`
    const body = this.#object(operation['requestBody'], bodyPlace, {
      must: ['content'],
      may: ['required', 'description'],
    })
    this.#checkContent(body['content'], `${bodyPlace}/content`)
  }

  /** Place and name of each, which are unique together. */
  #checkParameters(value: unknown, place: string): readonly string[] {
    if (value === undefined) return []
    const keys: string[] = []
    for (const [index, entry] of this.#array(value, place).entries()) {
      const parameter = this.#object(entry, `${place}/${index}`, {
        must: ['name', 'in', 'schema'],
        may: ['required', 'description', 'style', 'explode', 'example'],
      })
      const { name, in: where, required, schema, example } = parameter
      if (where === 'path' && required !== true) this.#fault(`${place}/${index}`, 'is in the path and not required')
      if (where !== 'path' && where !== 'query') this.#fault(`${place}/${index}`, `is in ${String(where)}`)
      if (required !== undefined && typeof required !== 'boolean')
        this.#fault(`${place}/${index}`, 'required is no boolean')
      if (parameter['description'] !== undefined) this.#text(parameter['description'], `${place}/${index}/description`)
      this.#checkSchema(schema, `${place}/${index}/schema`)
      if (example !== undefined) this.#checkValue(example, schema as Json, `${place}/${index}/example`)
      keys.push(`${String(where)} ${String(name)}`)
    }
    if (new Set(keys).size < keys.length) this.#fault(place, 'has a parameter twice')
    return keys
  }

  #checkResponse(value: unknown, place: string): void {
    const response = this.#followed(value, place)
    if (response === undefined) return
    const { content } = this.#object(response, place, { must: ['description'], may: ['content', 'headers'] })
    if (content !== undefined) this.#checkContent(content, `${place}/content`)
  }

  #checkContent(value: unknown, place: string): void {
    for (const [type, media] of this.#entries(value, place)) {
      if (!/^[\w.+-]+\/[\w.+-]+$/.test(type)) this.#fault(place, `has no media type: ${type}`)
      const { schema } = this.#object(media, `${place}/${type}`, { must: ['schema'], may: ['example'] })
      this.#checkSchema(schema, `${place}/${type}/schema`)
    }
  }

  #checkSchema(value: unknown, place: string): void {
    const schema = this.#followed(value, place)
    if (schema === undefined) return
    this.#object(schema, place, { must: [], may: schemaFields })
    const { type, items, properties, required, additionalProperties, enum: choices } = schema
    if (type !== undefined && !schemaTypes.includes(String(type))) this.#fault(place, `has no type: ${String(type)}`)
    if ((type === 'array') !== (items !== undefined)) this.#fault(place, 'has elements and is no array, or the reverse')
    if (items !== undefined) this.#checkSchema(items, `${place}/items`)
    if (properties !== undefined) {
      for (const [name, property] of this.#entries(properties, `${place}/properties`)) {
        this.#checkSchema(property, `${place}/properties/${name}`)
      }
    }
    if (required !== undefined) {
      const names = this.#array(required, `${place}/required`)
      if (names.length === 0 || new Set(names).size < names.length)
        this.#fault(place, 'requires nothing, or a name twice')
      for (const name of names) {
        if (!Object.hasOwn((properties ?? {}) as Json, String(name))) this.#fault(place, `requires ${String(name)}`)
      }
    }
    if (typeof additionalProperties === 'object')
      this.#checkSchema(additionalProperties, `${place}/additionalProperties`)
    for (const choice of choices === undefined ? [] : this.#array(choices, `${place}/enum`)) {
      this.#checkValue(choice, { ...schema, enum: undefined }, `${place}/enum`)
    }
    for (const name of ['default', 'example']) {
      if (schema[name] !== undefined) this.#checkValue(schema[name], schema, `${place}/${name}`)
    }
  }

  #checkValue(value: unknown, schema: Json, place: string): void {
    const { type, nullable, minimum, items, enum: choices } = schema
    if (value === null && nullable === true) return
    if (Array.isArray(choices) && !choices.includes(value)) this.#fault(place, 'is none of the choices')
    const isOne =
      type === undefined ||
      (type === 'array' && Array.isArray(value)) ||
      (type === 'integer' && Number.isSafeInteger(value)) ||
      (type === 'object' && typeof value === 'object' && value !== null) ||
      // The other types have the names that JavaScript has for them.
      type === typeof value
    if (!isOne) this.#fault(place, `is no ${String(type)}: ${JSON.stringify(value)}`)
    if (typeof minimum === 'number' && typeof value === 'number' && value < minimum) this.#fault(place, 'is too small')
    if (Array.isArray(value)) for (const item of value) this.#checkValue(item, items as Json, place)
  }

  /** The object, or what it refers to. */
  #followed(value: unknown, place: string): Json | undefined {
    const object = this.#any(value, place)
    const { $ref: reference } = object
    if (reference === undefined) return object
    if (Object.keys(object).length > 1) this.#fault(place, 'has a reference with something beside it')
    let found: unknown = this.#document
    for (const part of String(reference).replace(/^#\//, '').split('/')) found = (found as Json | undefined)?.[part]
    if (found === undefined) this.#fault(place, `refers to nothing: ${String(reference)}`)
    // What it refers to is checked in its own place.
    return undefined
  }

  #object(
    value: unknown,
    place: string,
    fields: { readonly must: readonly string[]; readonly may: readonly string[] },
  ): Json {
    const object = this.#any(value, place)
    for (const name of fields.must) if (!Object.hasOwn(object, name)) this.#fault(place, `has no ${name}`)
    for (const name of Object.keys(object)) {
      const isKnown = fields.must.includes(name) || fields.may.includes(name) || name.startsWith('x-')
      if (!isKnown) this.#fault(place, `has the unknown field ${name}`)
    }
    return object
  }

  #any(value: unknown, place: string): Json {
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Json
    this.#fault(place, 'is no object')
    return {}
  }

  #entries(value: unknown, place: string): readonly (readonly [string, unknown])[] {
    return Object.entries(this.#any(value, place))
  }

  #array(value: unknown, place: string): readonly unknown[] {
    if (Array.isArray(value)) return value
    this.#fault(place, 'is no array')
    return []
  }

  #text(value: unknown, place: string): void {
    if (typeof value !== 'string') this.#fault(place, 'is no text')
  }

  #fault(place: string, reason: string): void {
    this.#faults.push(`${place} ${reason}`)
  }
}
