// Compiled queries, kept by everything that they follow from: the version of the catalogue, the caller's scope, the text
// of the query, and the texts of the nodes that were read for it.
//
// Which nodes those are is known only by compiling, and their texts depend on a request's parameters. But the first node
// that is read follows from the text of the query, the second from that and the text of the first, and so on: so a key
// leads either to a plan or to the node whose text makes the key longer. Nodes that are no templates have one text for a
// version of the catalogue, and are not asked.

import { BoundedCache } from '../shared/bounded-cache.ts'
import { mebibyte } from '../shared/bytes.ts'
import type { CompiledQuery } from '../sql/compile-query.ts'
import { isTemplate } from '../template/compile-template.ts'
import type { FixedValues } from './fixed-parameters.ts'
import type { Rendering } from './rendering.ts'
import type { ReadNode } from './workspace.types.ts'

const stepsMax = 10_000
const bytesMax = 64 * mebibyte
/** Measured: what a plan takes of memory for each character of its SQL, as it knows where each token comes from. */
const planBytesPerCharacter = 52

/** A node whose text the query depends on. */
interface AskedNode {
  readonly node: ReadNode
  readonly fixed: FixedValues
}

type Step =
  | { readonly kind: 'plan'; readonly plan: CompiledQuery }
  | { readonly kind: 'node'; readonly asked: AskedNode }

type NodeText = (node: ReadNode, fixed: FixedValues) => string

interface Planned {
  /** Tells everything but texts: version of the catalogue, scope, whose names are seen. */
  readonly place: string
  readonly text: string
  readonly rendering: Rendering
}

export class PlanCache {
  readonly #steps = new BoundedCache<Step>({ entriesMax: stepsMax, weightMax: bytesMax })

  /** The plan that is kept, or what `compile` makes of the texts that it asks for. Raises what rendering and compiling do. */
  plan(planned: Planned, compile: (nodeText: NodeText) => CompiledQuery): CompiledQuery {
    const kept = this.#find(planned)
    if (kept !== undefined) return kept
    const asked = new Map<string, AskedNode>()
    const plan = compile((node, fixed) => {
      if (isTemplate(node.sql)) asked.set(`${node.id}${fixed.key}`, { node, fixed })
      return planned.rendering.nodeText(node, fixed)
    })
    this.#keep(planned, asked, plan)
    return plan
  }

  #find({ place, text, rendering }: Planned): CompiledQuery | undefined {
    let key = firstKey(place, text)
    for (;;) {
      const step = this.#steps.get(key)
      if (step === undefined) return undefined
      if (step.kind === 'plan') return step.plan
      key = nextKey(key, rendering.nodeText(step.asked.node, step.asked.fixed))
    }
  }

  #keep({ place, text, rendering }: Planned, asked: ReadonlyMap<string, AskedNode>, plan: CompiledQuery): void {
    let key = firstKey(place, text)
    for (const one of asked.values()) {
      this.#steps.set(key, { kind: 'node', asked: one }, key.length * 2)
      key = nextKey(key, rendering.nodeText(one.node, one.fixed))
    }
    this.#steps.set(key, { kind: 'plan', plan }, key.length * 2 + plan.sql.length * planBytesPerCharacter)
  }
}

function firstKey(place: string, text: string): string {
  return nextKey(place, text)
}

/** Its length stands before each text: a NUL in one that nobody has judged yet must not make it look like two. */
function nextKey(key: string, text: string): string {
  return `${key}\0${text.length}\0${text}`
}
