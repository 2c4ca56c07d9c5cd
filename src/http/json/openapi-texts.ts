import type { EndpointDescription } from '../../pipes/endpoint-descriptions.ts'
import { giveWay } from '../../shared/time-slices.ts'
import { type DocumentOptions, openApiDocument, pathNameOf, pathOf } from './openapi-document.ts'

/** OpenAPI documents as texts: that of an endpoint is made once, as long as its description is the same. */
export class OpenApiTexts {
  readonly #texts = new WeakMap<EndpointDescription, string>()

  /** The same document as `openApiDocument` gives; others have their turn while it is made. */
  async documentText(endpoints: readonly EndpointDescription[], options: DocumentOptions): Promise<string> {
    const texts: string[] = []
    for (const endpoint of endpoints) {
      texts.push(this.#pathText(endpoint))
      await giveWay()
    }
    const { paths: _, components, ...head } = openApiDocument([], options)
    const before = JSON.stringify(head).slice(0, -1)
    return `${before},"paths":{${texts.join(',')}},"components":${JSON.stringify(components)}}`
  }

  #pathText(endpoint: EndpointDescription): string {
    const known = this.#texts.get(endpoint)
    if (known !== undefined) return known
    const text = `${JSON.stringify(pathNameOf(endpoint))}:${JSON.stringify(pathOf(endpoint))}`
    this.#texts.set(endpoint, text)
    return text
  }
}
