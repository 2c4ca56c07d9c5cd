import { BoundedCache } from '../shared/bounded-cache.ts'
import { mebibyte } from '../shared/bytes.ts'
import { compileTemplate } from '../template/compile-template.ts'
import type { Template } from '../template/template.types.ts'
import { toTemplateFailure } from './template-failure.ts'

const templatesMax = 2_000
const charactersMax = 16 * mebibyte

/** Compiled templates by their texts, those that were used last. */
export class TemplateCache {
  readonly #compiled = new BoundedCache<Template>({ entriesMax: templatesMax, weightMax: charactersMax })

  /** @throws TEMPLATE_INVALID (400). */
  compile(source: string): Template {
    const kept = this.#compiled.get(source)
    if (kept !== undefined) return kept
    const template = compiled(source)
    this.#compiled.set(source, template, source.length)
    return template
  }
}

function compiled(source: string): Template {
  try {
    return compileTemplate(source)
  } catch (thrown) {
    throw toTemplateFailure(thrown)
  }
}
