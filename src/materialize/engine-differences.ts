// What a request asks of the engine of a data source that is there, and has in another way.

import type { EngineDefinition } from '../schema/engines/engine-definition.types.ts'

/** What decides how rows are kept; settings and the like are how the engine works. */
const compared = ['sorting_key', 'partition_key', 'primary_key', 'ver', 'sign', 'is_deleted', 'columns', 'ttl']

/** Clauses; what the request does not name may be anything. */
export function engineDifferences(
  asked: EngineDefinition | null,
  { name, options }: EngineDefinition,
): readonly string[] {
  if (asked === null) return []
  if (asked.name !== name) return [`its engine is ${name}, not ${asked.name}`]
  return compared.flatMap((option) => {
    const text = asked.options[option]
    const own = options[option] ?? ''
    if (text === undefined || plain(text) === plain(own)) return []
    return [`its engine_${option} is ${own === '' ? 'not set' : `'${own}'`}, not '${text}'`]
  })
}

/** Blanks, quotes around names and parentheses around all say nothing. */
function plain(text: string): string {
  const bare = text.replaceAll(/[\s`"]+/g, '')
  const [, inner = bare] = /^\(((?:[^()]|\([^()]*\))*)\)$/.exec(bare) ?? []
  return /^tuple(?:\(\))?$/.test(inner) ? '' : inner
}
